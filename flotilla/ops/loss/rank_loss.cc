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

void infer(InferContext& c) {
  for (const Slot& slot : c.def().inputs) check_same_shape(c, slot.name, "Label");
  set_all_like(c, "Label");
}

// From the threshold on softplus is its argument, to the last bit of a double.
void lower_rank(LowerContext& c) {
  const std::string d = c.sub(c.in("Left"), c.in("Right"));
  c.result("Out", c.sub(c.apply("softplus", d, {{"threshold", 40.0f}}), c.mul(c.in("Label"), d)));
}

const OpDef& rank_loss = define_op({
    .type = "rank_loss",
    .doc = "The cross entropy of the probability that Left ranks before Right.",
    .inputs = {constant("Label", "1: Left ranks before Right; 0: after it"),
               {.name = "Left", .doc = "scores"},
               {.name = "Right", .doc = "scores"}},
    .outputs = {{.name = "Out", .doc = "a loss for each pair"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower_rank,
});

void lower_margin(LowerContext& c) {
  const std::string room = c.mul(c.in("Label"), c.sub(c.in("X1"), c.in("X2")));
  const std::string loss = c.apply("relu", c.scale(room, -1, c.attr<float>("margin")));
  c.result("Out", loss);
  c.result("Activated", c.apply("sign", loss));
}

void infer_margin_grad(InferContext& c) { set_all_like(c, "Label"); }

void lower_margin_grad(LowerContext& c) {
  const std::string slope = c.mul(c.in("Out@GRAD"), c.mul(c.in("Activated"), c.in("Label")));
  c.result("X1@GRAD", c.scale(slope, -1));
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
    .infer = infer,
    .grad =
        grad_op({"Label", "Activated"}, {.lower = lower_margin_grad, .infer = infer_margin_grad}),
    .lower = lower_margin,
});

}  // namespace
}  // namespace flotilla::ops
