// flotilla/ops/math/lerp.cc
//
// lerp: Out = X + Weight (Y - X), each repeated to the shape of all. As in Paddle no gradient goes
// to Weight.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  for (const char* slot : {"Y", "Weight"}) check_one_dtype(c, "X", slot);
  const Shape both = broadcast(x.shape, c.in("Y").shape, -1);
  c.out("Out") = like(x, broadcast(both, c.in("Weight").shape, -1));
}

void lower(LowerContext& c) {
  c.result("Out", c.add(c.in("X"), c.mul(c.sub(c.in("Y"), c.in("X")), c.in("Weight"))));
}

const OpDef& lerp = define_op({
    .type = "lerp",
    .doc = "Out = X + Weight * (Y - X), element by element.",
    .inputs = {{.name = "X", .doc = "tensor"},
               {.name = "Y", .doc = "tensor"},
               {.name = "Weight", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "of the common shape"}},
    .infer = infer,
    // Some releases of Paddle give the gradient op Out, some do not.
    .grad = body_gradient({"X", "Y", "Weight", "Out"}, {.inputs = {unread("Out")}}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
