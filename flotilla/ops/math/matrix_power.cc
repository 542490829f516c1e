// matrix_power: matrices to the power of a whole number.

#include <cstdlib>

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer_power(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2 && x[x.rank() - 1] == x[x.rank() - 2] && x[x.rank() - 1] >= 0,
          "matrix_power takes square matrices, but X has shape {}", x);
  c.out("Out") = like(c.in("X"));
}

// By the binary digits of n.
void lower_power(LowerContext& c) {
  const int64_t n = c.attr<int64_t>("n");
  const Var& x = c.var(c.in("X"));
  std::string square = c.in("X"), power;
  if (n < 0) square = c.append("inverse", {{"Input", {square}}});
  for (int64_t rest = std::abs(n); rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = power.empty() ? square : c.apply("matmul_v2", power, square);
    if (rest > 1) square = c.apply("matmul_v2", square, square);
  }
  if (n == 0) {
    const int64_t rows = x.shape[x.shape.rank() - 1];
    const std::string one = c.append(
        "eye", {}, {{"num_rows", rows}, {"num_columns", rows}, {"dtype", to_paddle(x.dtype)}});
    power = c.add(c.apply("fill_zeros_like", c.in("X")), one);
  }
  c.result("Out", power);
}

const OpDef& matrix_power = define_op({
    .type = "matrix_power",
    .doc = "Matrices to the power of a whole number.",
    .inputs = {{.name = "X", .doc = "square matrices in the last two axes"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"n", int32_t{1}, "the exponent; below zero, of the inverse"}},
    .infer = infer_power,
    .grad = grad_of_body({"X", "Out"}),
    .lower = lower_power,
});

}  // namespace
}  // namespace flotilla::ops
