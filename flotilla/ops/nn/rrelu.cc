// flotilla/ops/nn/rrelu.cc
//
// rrelu: Out = X Noise (Xu et al., 2015). Noise is 1 where X is not below zero, else drawn from
// [lower, upper), or their mean with is_test.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const float lower = c.attr<float>("lower"), upper = c.attr<float>("upper");
  require(0 <= lower && lower <= upper && upper <= 1,
          "lower and upper must lie in this order in [0, 1], but are {} and {}", lower, upper);
  c.out("Out") = c.out("Noise") = like(c.in("X"));
}

void lower(LowerContext& c) {
  const std::string& x = c.in("X");
  const float lower = c.attr<float>("lower"), upper = c.attr<float>("upper");
  const auto filled = [&](float value) { return c.apply("fill_any_like", x, {{"value", value}}); };
  const auto drawn = [&] {
    return c.append("uniform_random", {{"ShapeTensor", {c.append("shape", {{"Input", {x}}})}}},
                    {{"min", lower}, {"max", upper}, {"dtype", to_paddle(c.var(x).dtype)}});
  };
  const std::string below = c.apply("less_than", x, filled(0));
  const std::string slope = c.attr<bool>("is_test") ? filled((lower + upper) / 2) : drawn();
  const std::string noise =
      c.append("where", {{"Condition", {below}}, {"X", {slope}}, {"Y", {filled(1)}}});
  c.result("Noise", noise);
  c.result("Out", c.mul(x, noise));
}

void lower_grad(LowerContext& c) { c.result("X@GRAD", c.mul(c.in("Out@GRAD"), c.in("Noise"))); }

const OpDef& rrelu = define_op({
    .type = "rrelu",
    .doc = "X where it is above zero, elsewhere X times random numbers.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"},
                {.name = "Noise", .doc = "the slopes", .no_grad = true, .like = "X"}},
    .attrs = {{"is_test", false, "whether all slopes are the mean"},
              {"lower", 0.125f, "the least slope"},
              {"upper", 1.0f / 3, "the largest"}},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Noise"}, {.lower = lower_grad}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
