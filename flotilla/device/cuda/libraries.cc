#include "flotilla/device/cuda/libraries.h"

#include "flotilla/device/cuda/blas.h"
#include "flotilla/device/cuda/dnn.h"

namespace flotilla::cuda {

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
