// flotilla/ops/nn/norm.cc
//
// norm: Norm = sqrt(sum(X^2) + epsilon), slice by slice along `axis`, and Out = X / Norm.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  check_axis("X", x, axis);
  c.out("Out") = c.in("X");
  c.out("Norm") = c.in("X");
  c.out("Norm").shape[x.axis(axis)] = 1;
}

void lower(LowerContext& c) {
  const std::string squares = c.sum(c.apply("square", c.in("X")), {c.attr<int32_t>("axis")}, true);
  const std::string norm = c.apply("sqrt", c.scale(squares, 1, c.attr<float>("epsilon")));
  c.result("Norm", norm);
  c.result("Out", c.div(c.in("X"), norm));
}

// dX = (dOut - X * sum(dOut * X) / Norm^2) / Norm
void lower_grad(LowerContext& c) {
  const std::string &x = c.in("X"), &norm = c.in("Norm"), &dout = c.in("Out@GRAD");
  const std::string dot = c.sum(c.mul(dout, x), {c.attr<int32_t>("axis")}, true);
  const std::string along = c.mul(x, c.div(dot, c.apply("square", norm)));
  c.result("X@GRAD", c.div(c.sub(dout, along), norm));
}

const OpDef& norm = define_op({
    .type = "norm",
    .doc = "Scales each slice of X along `axis` to length one.",
    .inputs = {{"X", "tensor of rank 1 or more"}},
    .outputs = {{"Out", "like X"}, {.name = "Norm", .doc = "lengths", .no_grad = true}},
    .attrs = {{"axis", -1, "direction of a slice"},
              {"epsilon", 1e-10f, "keeps the norm above zero"},
              {"is_test", false, "of no effect"}},
    .infer = infer,
    .grad = grad_op({"X", "Norm"}, {.lower = lower_grad}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
