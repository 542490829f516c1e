// smooth_l1_loss: Diff = InsideWeight (X - Y);  Out = row sums of OutsideWeight f(Diff), where
// f(d) = (sigma d)^2 / 2 for |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)

#include "flotilla/ops/loss/cut_square.h"

namespace flotilla::ops {
namespace {

void infer_smooth(InferContext& c) {
  for (const char* slot : {"Y", "InsideWeight", "OutsideWeight"}) check_same_shape(c, slot);
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X must have rank 2 or more, but has shape {}", x);
  c.out("Diff") = c.in("X");
  c.out("Out") = like(c.in("X"), Shape{x[0], 1});
}

float sigma2_of(const LowerContext& c) { return c.attr<float>("sigma") * c.attr<float>("sigma"); }

std::string weighted(LowerContext& c, const std::string& x, std::string_view slot) {
  return c.has(slot) ? c.mul(x, c.in(slot)) : x;
}

void lower_smooth(LowerContext& c) {
  const float sigma2 = sigma2_of(c);
  const std::string diff = weighted(c, c.sub(c.in("X"), c.in("Y")), "InsideWeight");
  const std::string slope = c.clip(times(c, diff, sigma2), -1, 1);
  const std::string loss = weighted(c, cut_square(c, diff, slope, 0.5f / sigma2), "OutsideWeight");
  std::vector<int32_t> axes;
  for (int64_t a = 1; a < c.shape("X").rank(); ++a) axes.push_back(static_cast<int32_t>(a));
  c.result("Diff", diff);
  c.result("Out", c.reshape(c.sum(loss, axes), {-1, 1}));
}

void infer_smooth_grad(InferContext& c) {
  const Shape &diff = c.in("Diff").shape, &gradient = c.in("Out@GRAD").shape;
  require(diff.rank() >= 2 && (!gradient.known() || diff[0] < 0 || gradient.numel() == diff[0]),
          "Out@GRAD must have a number for each row of Diff, but they are {} and {}", gradient,
          diff);
  set_all_like(c, "Diff");
}

void lower_smooth_grad(LowerContext& c) {
  const std::string rows = c.reshape(c.in("Out@GRAD"), {-1});
  std::string slope = c.clip(times(c, c.in("Diff"), sigma2_of(c)), -1, 1);
  slope = c.apply("elementwise_mul", slope, rows, {{"axis", 0}});
  slope = weighted(c, weighted(c, slope, "InsideWeight"), "OutsideWeight");
  c.result("X@GRAD", slope);
  c.result("Y@GRAD", times(c, slope, -1));
}

const Slot kInside = optional_constant("InsideWeight", "factors of the differences");
const Slot kOutside = optional_constant("OutsideWeight", "factors of the losses");

Slot like_diff(Slot slot) {
  slot.like = "Diff";
  return slot;
}

const OpDef& smooth_l1_loss = define_op({
    .type = "smooth_l1_loss",
    .doc = "Row sums of the squares of small differences and of the sizes of large ones.",
    .inputs = {{"X", "predictions, [rows, ...]"}, {"Y", "targets"}, kInside, kOutside},
    .outputs = {constant("Diff", "weighted differences"), {"Out", "[rows, 1]"}},
    .attrs = {{"sigma", 1.0f, "how soon the square becomes a straight line"}},
    .infer = infer_smooth,
    .grad = grad_op({"InsideWeight", "OutsideWeight", "Diff"},
                    {.lower = lower_smooth_grad,
                     .infer = infer_smooth_grad,
                     .inputs = {like_diff(kInside), like_diff(kOutside)}}),
    .lower = lower_smooth,
});

}  // namespace
}  // namespace flotilla::ops
