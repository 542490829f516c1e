// flotilla/device/twin.h
//
// The bytes of a buffer of the host on another device: which of both counts is known here alone, so
// that whoever reads the buffer gets what was written last, wherever that was.
//
// Thread safety: all calls.

#pragma once

#include <memory>

#include "flotilla/base/mutex.h"
#include "flotilla/device/backend.h"

namespace flotilla {

class Twin {
 public:
  Twin(void* host, int64_t bytes) : host_(host), bytes_(bytes) {}

  void* on(Backend& device, DeviceUse use);
  // The host may read and write its bytes until on() is called again.
  void take_back();

 private:
  void read_back() FLT_REQUIRES(mutex_);

  void* const host_;
  const int64_t bytes_;
  Mutex mutex_;
  Backend* device_ FLT_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<Backend> kept_ FLT_GUARDED_BY(mutex_);  // where somebody shares it
  std::shared_ptr<Buffer> memory_ FLT_GUARDED_BY(mutex_);
  bool host_counts_ FLT_GUARDED_BY(mutex_) = true;
  bool device_counts_ FLT_GUARDED_BY(mutex_) = false;
};

}  // namespace flotilla
