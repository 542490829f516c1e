// flotilla/ops/math/squared_l2_norm_clip_by_norm.cu
//
// squared_l2_norm on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct LoadSquare {
  const T* x;
  __device__ Compute<T> operator()(int64_t from, int64_t, int64_t) const {
    return widen(x[from]) * widen(x[from]);
  }
};

// Padding is zero and adds nothing, so any layout will do.
constexpr auto squared = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  using C = Compute<T>;
  const Layout layout = c.layout("X");
  const GpuFold fold({layout.physical_numel(c.shape("X"))}, {1});
  return [fold, stream = c.around().stream, in = c.in<T>("X", 0, layout),
          work = c.workspace<C>(fold.workspace()), out = c.out<T>("Out")] {
    fold.run<SumFold, C>(stream, LoadSquare<T>{in.data()}, StoreFinished<T, AsItIs>{out.data(), {}},
                         work.data());
  };
};

[[maybe_unused]] const bool kSquared = add_kernels("squared_l2_norm", cuda_floats(squared));

}  // namespace
}  // namespace flotilla::ops
