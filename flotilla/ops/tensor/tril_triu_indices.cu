// flotilla/ops/tensor/tril_triu_indices.cu
//
// tril_triu on a GPU.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct KeepTriangle {
  int64_t rows, columns, diagonal;
  bool lower;
  const T* x;
  T* out;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / columns, column = i - row * columns;
    const int64_t edge = row % rows + diagonal;  // the last column below, the first above
    out[i] = (lower ? column <= edge : column >= edge) ? x[i] : T{0};
  }
};

template <typename T>
Step keep_triangle(PrepareContext& c, std::string_view in, std::string_view out) {
  const Shape& shape = c.shape(in);
  c.in_place(in, out);
  return [n = shape.numel(), rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1],
          diagonal = c.attr<int64_t>("diagonal"), lower = c.attr<bool>("lower"),
          stream = c.around().stream, processors = c.around().gpu->info().processors,
          from = c.in<T>(in), to = c.out<T>(out)] {
    cuda::each(stream, processors, n,
               KeepTriangle<T>{rows, columns, diagonal, lower, from.data(), to.data()});
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return keep_triangle<T>(c, "X", "Out");
};
constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return keep_triangle<T>(c, "Out@GRAD", "X@GRAD");
};

[[maybe_unused]] const bool kTriangles =
    add_kernels("tril_triu",
                cuda_kernels_for<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>(
                    forward)) &&
    add_kernels("tril_triu_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
