// flotilla/ops/nn/softmax.cu
//
// softmax and log_softmax on a GPU.

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/softmax_rows.cuh"

namespace flotilla::ops {
namespace {

template <bool kLog, typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    forward_kernel(cuda::GroupShape shape, GpuSlices slices, const T* x, T* y) {
  using C = Compute<T>;
  const GroupSlice slice(shape, slices);
  const SoftmaxOf<C> softmax(slice, x);
  slice.each([&](int64_t at) {
    const C value = widen(x[at]);
    y[at] = narrow<T>(kLog ? softmax.log_chance(value) : softmax.chance(value));
  });
}

// softmax:     dX = (dOut - sum(dOut * Out)) * Out
// log_softmax: dX = dOut - sum(dOut) * exp(Out)
template <bool kLog, typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    backward_kernel(cuda::GroupShape shape, GpuSlices slices, const T* y, const T* dy, T* dx) {
  using C = Compute<T>;
  const GroupSlice slice(shape, slices);
  const C sum = slice.fold<SumFold, C>([&](int64_t at) {
    const C g = widen(dy[at]);
    return kLog ? g : g * widen(y[at]);
  });
  slice.each([&](int64_t at) {
    const C g = widen(dy[at]), out = widen(y[at]);
    dx[at] = narrow<T>(kLog ? g - sum * exp_of(out) : (g - sum) * out);
  });
}

template <bool kLog>
struct Forward {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    const GpuSlices slices = ops::slices(c.shape("X"), c.attr<int64_t>("axis"));
    c.in_place("X", "Out");
    return [slices, stream = c.around().stream, x = c.in<T>("X"), y = c.out<T>("Out")] {
      const cuda::GroupShape groups = slices.groups();
      cuda::launch_groups(stream, slices.count, groups, forward_kernel<kLog, T>, groups, slices,
                          x.data(), y.data());
    };
  }
};

template <bool kLog>
struct Backward {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    const GpuSlices slices = ops::slices(c.shape("Out"), c.attr<int64_t>("axis"));
    return [slices, stream = c.around().stream, y = c.in<T>("Out"), dy = c.in<T>("Out@GRAD"),
            dx = c.out<T>("X@GRAD")] {
      const cuda::GroupShape groups = slices.groups();
      cuda::launch_groups(stream, slices.count, groups, backward_kernel<kLog, T>, groups, slices,
                          y.data(), dy.data(), dx.data());
    };
  }
};

[[maybe_unused]] const bool kSoftmax =
    add_kernels("softmax", cuda_floats(Forward<false>())) &&
    add_kernels("softmax_grad", cuda_floats(Backward<false>())) &&
    add_kernels("log_softmax", cuda_floats(Forward<true>())) &&
    add_kernels("log_softmax_grad", cuda_floats(Backward<true>()));

}  // namespace
}  // namespace flotilla::ops
