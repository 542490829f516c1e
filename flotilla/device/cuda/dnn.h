// flotilla/device/cuda/dnn.h
//
// cuDNN.

#pragma once

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

class Dnn {
 public:
  explicit Dnn(Stream stream) : stream_(stream) {}

 private:
  const Stream stream_;
};

}  // namespace flotilla::cuda
