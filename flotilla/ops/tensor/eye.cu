// flotilla/ops/tensor/eye.cu
//
// eye on a GPU.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct Eye {
  int64_t columns;
  T* out;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns;
    out[i] = row == i - row * columns ? T{1} : T{0};
  }
};

constexpr auto eye = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [n = c.shape("Out").numel(), columns = c.shape("Out")[1], stream = c.around().stream,
          processors = c.around().gpu->info().processors, out = c.out<T>("Out")] {
    cuda::each(stream, processors, n, Eye<T>{columns, out.data()});
  };
};

[[maybe_unused]] const bool kEye = add_kernels(
    "eye", cuda_kernels_for<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>(eye));

}  // namespace
}  // namespace flotilla::ops
