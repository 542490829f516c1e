// flotilla/device/cuda/libraries.h
//
// The handles of NVIDIA's libraries that one queue uses, loaded when they are first asked for: a
// process that needs none of them has none in memory, and a build with CUDA runs without them.

#pragma once

#include <memory>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

class Blas;  // device/cuda/blas.h
class Dnn;   // device/cuda/dnn.h

// Whether f32 may be multiplied with 10 bits of mantissa, as Paddle has it: unless
// NVIDIA_TF32_OVERRIDE or FLT_TF32 is 0. Asked once for each plan of a library.
bool allows_tf32();

class Libraries {
 public:
  explicit Libraries(Stream stream);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  Blas& blas();
  Dnn& dnn();

 private:
  const Stream stream_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Dnn> dnn_;
};

}  // namespace flotilla::cuda
