// flotilla/device/cpu/backend.h
//
// The CPU as plans see it. Its memory is the host's, and its steps are done when they return.

#pragma once

#include "flotilla/device/backend.h"

namespace flotilla {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  Device kernels() const override { return kCpu; }
  std::shared_ptr<Buffer> allocate(int64_t bytes) override { return Buffer::make(bytes); }
  void write(void* to, const void* from, int64_t bytes) override { copy(to, from, bytes); }
  void read(void* to, const void* from, int64_t bytes) override { copy(to, from, bytes); }
  void copy(void* to, const void* from, int64_t bytes) override;
  void fill(void* to, uint8_t byte, int64_t bytes) override;
  Reorder reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to) override;
};

}  // namespace flotilla
