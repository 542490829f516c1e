#include "flotilla/device/cuda/libraries.h"

#include "flotilla/base/env.h"
#include "flotilla/device/cuda/blas.h"
#include "flotilla/device/cuda/dnn.h"

namespace flotilla::cuda {

bool allows_tf32() {
  return env::flag_or("FLT_TF32", true) && env::text_or("NVIDIA_TF32_OVERRIDE", "") != "0";
}

Libraries::Libraries(Stream stream) : stream_(stream) {}
Libraries::~Libraries() = default;

Blas& Libraries::blas() {
  if (blas_ == nullptr) blas_ = std::make_unique<Blas>(stream_);
  return *blas_;
}

Dnn& Libraries::dnn() {
  if (dnn_ == nullptr) dnn_ = std::make_unique<Dnn>(stream_);
  return *dnn_;
}

}  // namespace flotilla::cuda
