// flotilla/ops/loss/kldiv_loss.cc
//
// kldiv_loss: Target * (log(Target) - X), element by element, for logarithms of probabilities X and
// probabilities Target; where Target is not positive, 0. `reduction` sums up: mean over all
// elements, batchmean over the first axis, sum, or none.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_same_shape(c, "Target");
  const auto reduction = c.attr<std::string>("reduction");
  require(
      reduction == "none" || reduction == "mean" || reduction == "batchmean" || reduction == "sum",
      "reduction must be none, mean, batchmean or sum, but is \"{}\"", reduction);
  c.out("Loss") = reduction == "none" ? like(c.in("X")) : VarMeta::tensor(c.dtype("X"), Shape{1});
}

std::string reduced(LowerContext& c, std::string loss) {
  const auto reduction = c.attr<std::string>("reduction");
  if (reduction == "none") return loss;
  if (reduction == "mean") return c.apply("reduce_mean", loss, {{"reduce_all", true}});
  if (reduction == "batchmean") {
    loss = c.apply("reduce_mean", loss, {{"dim", std::vector<int32_t>{0}}});
  }
  return c.apply("reduce_sum", loss, {{"reduce_all", true}});
}

// X may be minus infinity where Target is 0.
void lower(LowerContext& c) {
  const std::string none = c.apply("fill_zeros_like", c.in("Target"));
  const std::string chance = c.apply("relu", c.in("Target"));
  const std::string gap = c.apply("elementwise_sub", c.apply("log", chance), c.in("X"));
  const std::string loss =
      c.append("where", {{"Condition", {c.apply("greater_than", chance, none)}},
                         {"X", {c.apply("elementwise_mul", chance, gap)}},
                         {"Y", {none}}});
  c.result("Loss", reduced(c, loss));
}

const OpDef& kldiv_loss = define_op({
    .type = "kldiv_loss",
    .doc = "The Kullback-Leibler divergence of X from Target.",
    .inputs = {{"X", "logarithms of probabilities"}, constant("Target", "probabilities")},
    .outputs = {{"Loss", "one number, or like X"}},
    .attrs = {{"reduction", "mean", "none, mean, batchmean or sum"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
