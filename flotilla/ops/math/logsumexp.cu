// flotilla/ops/math/logsumexp.cu
//
// The operator of logsumexp.cc on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/math/folded_axes.h"

namespace flotilla::ops {
namespace {

// Of infinities only, the largest is no number to subtract.
struct Shift {
  template <typename T>
  FLT_FN T operator()(T largest) const {
    return std::isinf(largest) ? T{0} : largest;
  }
};

// exp(x - largest), with the largest of its slice.
template <typename T>
struct LoadShifted {
  const T *x, *largest;
  __device__ T operator()(int64_t from, int64_t to, int64_t) const {
    return exp_of(x[from] - largest[to]);
  }
};

template <typename T>
struct StoreLog {
  const T* largest;
  T* y;
  __device__ void operator()(int64_t to, T sum) const { y[to] = std::log(sum) + largest[to]; }
};

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape& x = c.shape("X");
  const Shape to = FoldedAxes(c, x, "axis").with_ones();
  const GpuFold fold(x, to);
  return
      [fold, stream = c.around().stream, in = c.in<T>("X"), work = c.workspace<T>(fold.workspace()),
       largest = c.workspace<T>(to.numel()), out = c.out<T>("Out")] {
        T* const most = largest.data();
        fold.run<MaxFold, T>(stream, LoadElement<T>{in.data()}, StoreFinished<T, Shift>{most, {}},
                             work.data());
        fold.run<SumFold, T>(stream, LoadShifted<T>{in.data(), most}, StoreLog<T>{most, out.data()},
                             work.data());
      };
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return gpu_fold_backward<LogSumExpGrad, T>(c, FoldedAxes(c, c.shape("X"), "axis").with_ones());
};

[[maybe_unused]] const bool kLogSumExp =
    add_kernels("logsumexp", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("logsumexp_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
