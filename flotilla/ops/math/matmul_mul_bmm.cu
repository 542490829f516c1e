// flotilla/ops/math/matmul_mul_bmm.cu
//
// Products of matrices on a GPU, by cuBLASLt.

#include "flotilla/base/half.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/product.cuh"
#include "flotilla/ops/math/matmul_problem.h"

namespace flotilla::ops {
namespace {

template <typename T>
double factor(const PrepareContext& c) {
  return static_cast<double>(static_cast<Compute<T>>(alpha_of(c)));
}

template <typename T>
Step forward(PrepareContext& c) {
  const Problem q = folded(problem_of(c));
  const BatchedProduct p = {.m = q.p.m,
                            .n = q.p.n,
                            .k = q.p.k,
                            .transpose_a = q.p.transpose_a,
                            .transpose_b = q.p.transpose_b,
                            .alpha = factor<T>(c),
                            .batch = q.batch,
                            .strides_a = q.x_strides,
                            .strides_b = q.y_strides,
                            .strides_out = dense_strides(q.batch, q.p.m * q.p.n),
                            .count = c.shape("Out").numel()};
  return [product = CudaProduct<T>(c, p), x = c.in<T>("X"), y = c.in<T>("Y"),
          out = c.out<T>("Out")] { product.run(x.data(), y.data(), out.data()); };
}

template <typename T>
Step backward(PrepareContext& c) {
  std::vector<Step> steps;
  for (const OperandGradient& of : operand_gradients(c)) {
    const BatchedProduct p = {.m = of.p.m,
                              .n = of.p.n,
                              .k = of.p.k,
                              .transpose_a = of.p.transpose_a,
                              .transpose_b = of.p.transpose_b,
                              .alpha = factor<T>(c),
                              .batch = of.batch,
                              .strides_a = of.left_strides,
                              .strides_b = of.right_strides,
                              .strides_out = of.strides,
                              .count = c.shape(of.slot).numel()};
    steps.push_back(
        [product = CudaProduct<T>(c, p), a = c.in<T>(of.left), b = c.in<T>(of.right),
         out = c.out<T>(grad_name(of.slot))] { product.run(a.data(), b.data(), out.data()); });
  }
  return in_order(std::move(steps));
}

bool add(const std::string& type) {
  return add_kernels(type, {{kCuda, f32, forward<float>},
                            {kCuda, f64, forward<double>},
                            {kCuda, f16, forward<Half>},
                            {kCuda, bf16, forward<BFloat16>}}) &&
         add_kernels(type + "_grad", {{kCuda, f32, backward<float>},
                                      {kCuda, f64, backward<double>},
                                      {kCuda, f16, backward<Half>},
                                      {kCuda, bf16, backward<BFloat16>}});
}

[[maybe_unused]] const bool kMatmuls =
    add("mul") && add("matmul_v2") && add("matmul") && add("bmm");

}  // namespace
}  // namespace flotilla::ops
