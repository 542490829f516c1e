// flotilla/device/stream.h
//
// A queue of work on a device, in order. A CPU has none: its steps are done when they return.

#pragma once

namespace flotilla {

struct Stream {
  void* handle = nullptr;  // a cudaStream_t; null: no queue, or the device's default one
};

}  // namespace flotilla
