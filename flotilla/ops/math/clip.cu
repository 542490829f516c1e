// flotilla/ops/math/clip.cu
//
// clip on a GPU; math_functions.cc defines it, of sparse rows too. Rows that repeat add up before
// they are compared; the sum stands in the place of the first one in their order, and zeros in
// those of the others.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/ops/common/math_formulas.h"
#include "flotilla/ops/common/sparse_rows.cuh"
#include "flotilla/ops/math/unary.cuh"

namespace flotilla::ops {
namespace {

template <typename Function, typename T>
struct ClipRuns {
  RowRuns runs;
  Function clip;
  const T* values;
  int64_t* rows;
  T* to;

  __device__ void operator()(int64_t i) const {
    const int64_t p = i / runs.width, column = i % runs.width, row = runs.row(p);
    const bool there = row < runs.height;
    if (column == 0) rows[p] = there ? row : 0;
    to[i] = there && runs.begins(p) ? clip(runs.add_run(p, column, values, T{0})) : T{0};
  }
};

template <typename T>
Step sparse_forward(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          sorted = SortedRows<T>(c, c.sparse_in<T>("X")), params = ParamSource<unary::Clip, T>(c),
          out = c.sparse_out<T>("Out")] {
    if (sorted.numel() == 0) return;
    const auto clip = with_params<UnaryForward>(params);
    cuda::each(stream, processors, sorted.numel(),
               ClipRuns<decltype(clip), T>{sorted.sort(stream), clip, sorted.rows().value.data(),
                                           out.rows.data(), out.value.data()});
  };
}

template <typename T>
Step forward(PrepareContext& c) {
  return c.is_sparse("X") ? sparse_forward<T>(c) : cuda_unary_forward<unary::Clip, T>(c);
}

[[maybe_unused]] const bool kAdded =
    add_kernels("clip", {{kCuda, f32, forward<float>},
                         {kCuda, f64, forward<double>},
                         {kCuda, f16, cuda_unary_forward<unary::Clip, Half>},
                         {kCuda, bf16, cuda_unary_forward<unary::Clip, BFloat16>}}) &&
    add_kernels("clip_grad", cuda_float_kernels<CudaUnaryBackward<unary::Clip>>()) &&
    add_cuda_unary_integers(Types<unary::Clip>{});

}  // namespace
}  // namespace flotilla::ops
