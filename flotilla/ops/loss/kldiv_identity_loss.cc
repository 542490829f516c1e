// flotilla/ops/loss/kldiv_identity_loss.cc
//
// Losses that sum up as `reduction` says: mean over all elements, batchmean over the first axis,
// sum, or none.
//
// kldiv_loss:    Target * (log(Target) - X), element by element, for logarithms of probabilities X
//                and probabilities Target; where Target is not positive, 0.
// identity_loss: X itself. Its `reduction` is a number.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

VarMeta reduced(const InferContext& c, const std::string& reduction) {
  return reduction == "none" ? like(c.in("X")) : VarMeta::tensor(c.dtype("X"), Shape{1});
}

std::string reduced(LowerContext& c, std::string loss, const std::string& reduction) {
  if (reduction == "none") return loss;
  if (reduction == "mean") return c.apply("reduce_mean", loss, {{"reduce_all", true}});
  if (reduction == "batchmean") {
    loss = c.apply("reduce_mean", loss, {{"dim", std::vector<int32_t>{0}}});
  }
  return c.sum(loss, {});
}

void infer_kldiv(InferContext& c) {
  check_same_shape(c, "Target");
  const auto reduction = c.attr<std::string>("reduction");
  require(
      reduction == "none" || reduction == "mean" || reduction == "batchmean" || reduction == "sum",
      "reduction must be none, mean, batchmean or sum, but is \"{}\"", reduction);
  c.out("Loss") = reduced(c, reduction);
}

// X may be minus infinity where Target is 0.
void lower_kldiv(LowerContext& c) {
  const std::string none = c.apply("fill_zeros_like", c.in("Target"));
  const std::string chance = c.apply("relu", c.in("Target"));
  const std::string gap = c.sub(c.apply("log", chance), c.in("X"));
  const std::string loss =
      c.append("where", {{"Condition", {c.apply("greater_than", chance, none)}},
                         {"X", {c.mul(chance, gap)}},
                         {"Y", {none}}});
  c.result("Loss", reduced(c, loss, c.attr<std::string>("reduction")));
}

const OpDef& kldiv_loss = define_op({
    .type = "kldiv_loss",
    .doc = "The Kullback-Leibler divergence of X from Target.",
    .inputs = {{"X", "logarithms of probabilities"}, constant("Target", "probabilities")},
    .outputs = {{"Loss", "one number, or like X"}},
    .attrs = {{"reduction", "mean", "none, mean, batchmean or sum"}},
    .infer = infer_kldiv,
    .grad = grad_of_body(),
    .lower = lower_kldiv,
});

template <typename Context>
std::string reduction_of(const Context& c) {
  const auto reduction = c.template attr<int64_t>("reduction");
  require(0 <= reduction && reduction <= 2,
          "reduction must be 0 (sum), 1 (mean) or 2 (none), but is {}", reduction);
  return reduction == 0 ? "sum" : reduction == 1 ? "mean" : "none";
}

const OpDef& identity_loss = define_op({
    .type = "identity_loss",
    .doc = "Says that X is a loss.",
    .inputs = {{"X", "losses"}},
    .outputs = {{"Out", "one number, or like X"}},
    .attrs = {{"reduction", 1, "0: sum, 1: mean, 2: none"}},
    .infer = [](InferContext& c) { c.out("Out") = reduced(c, reduction_of(c)); },
    .grad = grad_of_body(),
    .lower =
        [](LowerContext& c) {
          c.result("Out", reduced(c, c.apply("assign", c.in("X")), reduction_of(c)));
        },
});

}  // namespace
}  // namespace flotilla::ops
