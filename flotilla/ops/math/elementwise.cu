// flotilla/ops/math/elementwise.cu
//
// The arithmetic of two tensors on a GPU: kernels for the operators that elementwise.cc defines.
// Their gradients are in elementwise_grad.cu.

#include <vector>

#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/common/sparse_rows.cuh"
#include "flotilla/ops/math/elementwise.cuh"

namespace flotilla::ops {
namespace {

// Sparse rows and one number.
template <typename F, typename T>
Step sparse_forward(PrepareContext& c) {
  require(c.shape("Y").numel() == 1, "sparse rows meet one number only, but Y has shape {}",
          c.shape("Y"));
  const SparseIn<T> x = c.sparse_in<T>("X");
  const std::vector<WalkAxis> axes = {{x.count * x.width, 1, 0}};
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          b = cuda::broadcast_of(axes), x, y = c.in<T>("Y"), out = c.sparse_out<T>("Out")] {
    copy_elements(stream, out.rows.data(), x.rows.data(), x.count);
    cuda::broadcast_map(stream, processors, b, BinaryFunction<F, T>{}, out.value.data(),
                        cuda::Operand<T>{x.value.data()}, cuda::Operand<T>{y.data(), b.side_y});
  };
}

template <typename F, typename T>
Step forward(PrepareContext& c) {
  return c.is_sparse("X") ? sparse_forward<F, T>(c) : cuda_binary_step<F, T, T>(c);
}

template <typename F, typename... T>
std::vector<Kernel> kernels_of() {
  return {{kCuda, dtype_of<T>, forward<F, T>}...};
}

template <typename F>
std::vector<Kernel> kernels() {
  return kernels_of<F, float, double, Half, BFloat16, int32_t, int64_t>();
}

template <typename... F>
bool add_all(Types<F...>) {
  return (add_kernels(F::kInfo.type, kernels<F>()) && ...);
}

[[maybe_unused]] const bool kAdded =
    add_all(binary::Arithmetic{}) && add_kernels("grad_add", kernels<binary::Add>()) &&
    add_kernels(binary::Mul::kInfo.type, cuda_binary_kernels<binary::Mul, bool, bool>());

}  // namespace
}  // namespace flotilla::ops
