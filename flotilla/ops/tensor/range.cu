// flotilla/ops/tensor/range.cu
//
// range on a GPU, where its size is known when a plan is made.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct RangeElement {
  const T *start, *step;
  T* out;

  __device__ void operator()(int64_t i) const {
    out[i] = static_cast<T>(*start + static_cast<T>(i) * *step);
  }
};

constexpr auto range = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [n = c.shape("Out").numel(), stream = c.around().stream,
          processors = c.around().gpu->info().processors, start = c.in<T>("Start"),
          step = c.in<T>("Step"), out = c.out<T>("Out")] {
    cuda::each(stream, processors, n, RangeElement<T>{start.data(), step.data(), out.data()});
  };
};

[[maybe_unused]] const bool kRange =
    add_kernels("range", cuda_kernels_for<float, double, int32_t, int64_t>(range));

}  // namespace
}  // namespace flotilla::ops
