// flotilla/ops/math/elementwise.cu
//
// The arithmetic of two tensors on a GPU: kernels for the operators that elementwise.cc defines.
// Their gradients are in elementwise_grad.cu.

#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/math/elementwise.cuh"

namespace flotilla::ops {
namespace {

template <typename F>
std::vector<Kernel> kernels() {
  return cuda_binary_kernels<F, void, float, double, Half, BFloat16, int32_t, int64_t>();
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
