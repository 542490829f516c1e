// flotilla/ops/tensor/one_hot.cu
//
// one_hot and one_hot_v2 on a GPU. A number outside [0, depth) gives zeros, allowed or not.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

template <typename From, typename To>
struct OneHot {
  int64_t depth;
  const From* x;
  To* out;

  __device__ void operator()(int64_t i) const {
    const int64_t place = i / depth;
    out[i] = x[place] == i - place * depth ? To{1} : To{0};
  }
};

constexpr auto one_hot = []<typename From>(PrepareContext& c, Of<From>) -> Step {
  return visit_dtype(c.dtype("Out"), [&](auto to) -> Step {
    using To = decltype(to);
    return [n = c.shape("Out").numel(),
            depth = known_int(c, {.tensor = "depth_tensor", .attr = "depth"}),
            stream = c.around().stream, processors = c.around().gpu->info().processors,
            in = c.in<From>("X"), out = c.out<To>("Out")] {
      cuda::each(stream, processors, n, OneHot<From, To>{depth, in.data(), out.data()});
    };
  });
};

[[maybe_unused]] const bool kOneHot =
    add_kernels("one_hot", cuda_kernels_for<int32_t, int64_t>(one_hot)) &&
    add_kernels("one_hot_v2", cuda_kernels_for<int32_t, int64_t>(one_hot));

}  // namespace
}  // namespace flotilla::ops
