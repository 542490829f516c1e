// flotilla/ops/math/angle_conj.cc
//
// angle and conj of real numbers, as those of the complex plane: the angle of a negative one is pi,
// and each is its own conjugate.

#include "flotilla/op/grad_context.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) { c.out("Out") = like(c.in("X")); }

void lower_angle(LowerContext& c) {
  const std::string zeros = c.apply("fill_zeros_like", c.in("X"));
  const std::string negative =
      c.cast(c.apply("less_than", c.in("X"), zeros), c.var(c.in("X")).dtype);
  // The angle whose cosine is -1, or 1.
  c.result("Out", c.apply("acos", c.scale(negative, -2, 1)));
}

const OpDef& angle = define_op({
    .type = "angle",
    .doc = "pi where X is negative, else 0.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower_angle,
});

const OpDef& conj = define_op({
    .type = "conj",
    .doc = "X, whose numbers are real.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "the same"}},
    .infer = infer,
    .grad = custom_grad([](GradContext& g) { hand_back(g, "conj"); }),
    .lower = [](LowerContext& c) { c.result("Out", c.apply("assign", c.in("X"))); },
});

}  // namespace
}  // namespace flotilla::ops
