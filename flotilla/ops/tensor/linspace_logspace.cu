// flotilla/ops/tensor/linspace_logspace.cu
//
// linspace on a GPU.

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"

namespace flotilla::ops {
namespace {

// From both ends towards the middle, so that the last number is Stop to the bit.
template <typename From, typename To>
struct LinspaceElement {
  int64_t n;
  const From *start, *stop;
  To* out;

  __device__ void operator()(int64_t i) const {
    const double first = static_cast<double>(*start), last = static_cast<double>(*stop);
    const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
    const bool front = n == 1 || i < n / 2;
    // Rounded twice, as on a CPU without fused operations.
    const double value = front ? __dadd_rn(first, __dmul_rn(step, static_cast<double>(i)))
                               : __dsub_rn(last, __dmul_rn(step, static_cast<double>(n - 1 - i)));
    out[i] = static_cast<To>(value);
  }
};

constexpr auto linspace = []<typename From>(PrepareContext& c, Of<From>) -> Step {
  return visit_dtype(c.dtype("Out"), [&](auto to) -> Step {
    using To = decltype(to);
    return [n = c.shape("Out").numel(), stream = c.around().stream,
            processors = c.around().gpu->info().processors, start = c.in<From>("Start"),
            stop = c.in<From>("Stop"), out = c.out<To>("Out")] {
      cuda::each(stream, processors, n,
                 LinspaceElement<From, To>{n, start.data(), stop.data(), out.data()});
    };
  });
};

[[maybe_unused]] const bool kLinspace =
    add_kernels("linspace", cuda_kernels_for<float, double, int32_t, int64_t>(linspace));

}  // namespace
}  // namespace flotilla::ops
