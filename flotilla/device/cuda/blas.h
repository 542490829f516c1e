// flotilla/device/cuda/blas.h
//
// cuBLASLt.

#pragma once

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

class Blas {
 public:
  explicit Blas(Stream stream) : stream_(stream) {}

 private:
  const Stream stream_;
};

}  // namespace flotilla::cuda
