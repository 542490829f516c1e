// flotilla/ops/math/dist.cc
//
// dist: the p-norm of X - Y, both repeated to their common shape.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_dtype(c, "X", "Y");
  broadcast(c.in("X").shape, c.in("Y").shape, -1);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), {1});
}

void lower(LowerContext& c) {
  c.result("Out", c.apply("p_norm", c.sub(c.in("X"), c.in("Y")),
                          {{"porder", c.attr<float>("p")}, {"asvector", true}}));
}

const OpDef& dist = define_op({
    .type = "dist",
    .doc = "The p-norm of X - Y.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .attrs = {{"p", 2.0f, "which norm"}},
    .infer = infer,
    .grad = grad_of_body({"X", "Y", "Out"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
