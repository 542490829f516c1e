// flotilla/ops/math/bilinear_tensor_product.cc
//
// bilinear_tensor_product: Out[n, k] = X[n] Weight[k] Y[n]^T + Bias[k], Weight of [size, width of
// X, width of Y].

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape, &w = c.in("Weight").shape;
  require(x.rank() == 2 && y.rank() == 2 && w.rank() == 3 && (x[1] < 0 || x[1] == w[1]) &&
              (y[1] < 0 || y[1] == w[2]),
          "Weight must have shape [size, {}, {}] for X {} and Y {}, but has {}",
          x.rank() > 1 ? x[1] : -1, y.rank() > 1 ? y[1] : -1, x, y, w);
  require(x[0] < 0 || y[0] < 0 || x[0] == y[0],
          "X and Y must have as many rows, but have shapes {} and {}", x, y);
  require(!c.has_in("Bias") || c.in("Bias").shape.numel() == w[0],
          "Bias must hold {} numbers, but has shape {}", w[0],
          c.has_in("Bias") ? c.in("Bias").shape : Shape());
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0], w[0]});
}

void lower(LowerContext& c) {
  // [size, rows, width of Y]
  const std::string products = c.mul(c.apply("matmul_v2", c.in("X"), c.in("Weight")), c.in("Y"));
  const std::string sums = c.sum(products, {-1});
  const std::string out = c.apply("transpose2", sums, {{"axis", std::vector<int32_t>{1, 0}}});
  if (!c.has("Bias")) return c.result("Out", out);
  c.result("Out", c.add(out, c.reshape(c.in("Bias"), {-1})));
}

const OpDef& bilinear_tensor_product = define_op({
    .type = "bilinear_tensor_product",
    .doc = "Numbers that are linear in X and in Y.",
    .inputs = {{.name = "X", .doc = "[rows, width]"},
               {.name = "Y", .doc = "[rows, another width]"},
               {.name = "Weight", .doc = "[size, width, other width]"},
               {.name = "Bias", .doc = "[1, size]", .optional = true}},
    .outputs = {{.name = "Out", .doc = "[rows, size]"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
