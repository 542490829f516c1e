// flotilla/ops/math/minus.cc
//
// minus: Out = X - Y for tensors of one shape, the oldest way to say it.

#include "flotilla/op/grad_context.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_dtype(c, "X", "Y");
  check_one_shape(c, "X", "Y");
  c.out("Out") = like(c.in("X"));
}

// There is no minus_grad in Paddle.
void grad(GradContext& g) {
  hand_back(g, "scale", {{"scale", 1.0f}}, "X");
  hand_back(g, "scale", {{"scale", -1.0f}}, "Y");
}

const OpDef& minus = define_op({
    .type = "minus",
    .doc = "X - Y.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "same shape as X"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .infer = infer,
    .grad = custom_grad(grad),
    .lower = [](LowerContext& c) { c.result("Out", c.sub(c.in("X"), c.in("Y"))); },
});

}  // namespace
}  // namespace flotilla::ops
