// flotilla/ops/loss/rank_loss.cc
//
// Losses of pairs, of which Label says the order:
//
//   rank_loss         log(1 + exp(d)) - Label d, d = Left - Right (RankNet: Burges et al., 2005)
//   margin_rank_loss  max(0, margin - Label (X1 - X2));  Activated: 1 where that is above zero

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer_rank(InferContext& c) {
  for (const char* slot : {"Left", "Right"}) check_same_shape(c, slot, "Label");
  c.out("Out") = like(c.in("Label"));
}

// From the threshold on softplus is its argument, to the last bit of a double.
void lower_rank(LowerContext& c) {
  const std::string d = c.apply("elementwise_sub", c.in("Left"), c.in("Right"));
  c.result("Out", c.apply("elementwise_sub", c.apply("softplus", d, {{"threshold", 40.0f}}),
                          c.apply("elementwise_mul", c.in("Label"), d)));
}

const OpDef& rank_loss = define_op({
    .type = "rank_loss",
    .doc = "The cross entropy of the probability that Left ranks before Right.",
    .inputs = {constant("Label", "1: Left ranks before Right; 0: after it"),
               {.name = "Left", .doc = "scores"},
               {.name = "Right", .doc = "scores"}},
    .outputs = {{.name = "Out", .doc = "a loss for each pair"}},
    .infer = infer_rank,
    .grad = grad_of_body(),
    .lower = lower_rank,
});

void infer_margin(InferContext& c) {
  for (const char* slot : {"X1", "X2"}) check_same_shape(c, slot, "Label");
  c.out("Out") = like(c.in("Label"));
  c.out("Activated") = like(c.in("Label"));
}

void lower_margin(LowerContext& c) {
  const std::string order = c.apply("elementwise_sub", c.in("X1"), c.in("X2"));
  const std::string room = c.apply("elementwise_mul", c.in("Label"), order);
  const std::string loss = c.apply(
      "relu", c.apply("scale", room, {{"scale", -1.0f}, {"bias", c.attr<float>("margin")}}));
  c.result("Out", loss);
  c.result("Activated", c.apply("sign", loss));
}

void infer_margin_grad(InferContext& c) {
  c.out("X1@GRAD") = like(c.in("Label"));
  c.out("X2@GRAD") = like(c.in("Label"));
}

void lower_margin_grad(LowerContext& c) {
  const std::string label = c.apply("elementwise_mul", c.in("Activated"), c.in("Label"));
  const std::string slope = c.apply("elementwise_mul", c.in("Out@GRAD"), label);
  c.result("X1@GRAD", c.apply("scale", slope, {{"scale", -1.0f}}));
  c.result("X2@GRAD", slope);
}

const OpDef& margin_rank_loss = define_op({
    .type = "margin_rank_loss",
    .doc = "How far pairs are from their order, with a margin.",
    .inputs = {{.name = "X1", .doc = "scores"},
               {.name = "X2", .doc = "scores"},
               constant("Label", "1: X1 ranks higher; -1: lower")},
    .outputs =
        {{.name = "Activated", .doc = "1 where there is a loss", .no_grad = true, .like = "Label"},
         {.name = "Out", .doc = "a loss for each pair", .like = "Label"}},
    .attrs = {{"margin", 0.0f, "how far apart a pair must be to cost nothing"}},
    .infer = infer_margin,
    .grad =
        grad_op({"Label", "Activated"}, {.lower = lower_margin_grad, .infer = infer_margin_grad}),
    .lower = lower_margin,
});

}  // namespace
}  // namespace flotilla::ops
