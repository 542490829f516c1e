// flotilla/base/device.h
//
// Where a kernel runs. A machine has one CPU device and any number of CUDA devices.

#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla {

enum class Device : int8_t { kCpu, kCuda };

inline constexpr Device kCpu = Device::kCpu;
inline constexpr Device kCuda = Device::kCuda;

inline std::string_view name_of(Device device) { return device == kCpu ? "cpu" : "cuda"; }

}  // namespace flotilla
