// flotilla/ops/math/mv.cc
//
// mv: Out = X Vec, a matrix times a vector.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &vec = c.in("Vec").shape;
  require(x.rank() == 2 && vec.rank() == 1 && (x[1] == vec[0] || x[1] < 0 || vec[0] < 0),
          "mv multiplies an m x k matrix with a vector of k elements, but X is {} and Vec is {}", x,
          vec);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0]});
}

void lower(LowerContext& c) { c.result("Out", c.apply("matmul_v2", c.in("X"), c.in("Vec"))); }

const OpDef& mv = define_op({
    .type = "mv",
    .doc = "A matrix times a vector.",
    .inputs = {{.name = "X", .doc = "m x k"}, {.name = "Vec", .doc = "k elements"}},
    .outputs = {{.name = "Out", .doc = "m elements"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
