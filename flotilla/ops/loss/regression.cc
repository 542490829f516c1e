// flotilla/ops/loss/regression.cc
//
// huber_loss:     Residual = Y - X;  Out = r^2 / 2 where |r| <= delta, else delta (|r| - delta / 2)
// smooth_l1_loss: Diff = InsideWeight (X - Y);  Out = row sums of OutsideWeight f(Diff), where
//                 f(d) = (sigma d)^2 / 2 for |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)
//
// Both are a (r - a / 2) for a = r, cut off where the square ends; a is the slope, too.

#include "flotilla/op/infer.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void check_same_shape(const InferContext& c, std::string_view slot) {
  const Shape& x = c.in("X").shape;
  const Shape& other = c.in(slot).shape;
  const bool fits = x == other || ((!x.known() || !other.known()) && x.rank() == other.rank());
  require(fits, "{} must have the shape of X, but is {} and X is {}", slot, other, x);
}

std::string times(LowerContext& c, const std::string& x, float factor) {
  return factor == 1 ? x : c.apply("scale", x, {{"scale", factor}});
}

std::string cut_off(LowerContext& c, const std::string& x, float limit) {
  return c.apply("clip", x, {{"min", -limit}, {"max", limit}});
}

// ---- huber_loss ---------------------------------------------------------------------------------

void infer_huber(InferContext& c) {
  check_same_shape(c, "Y");
  c.out("Out") = c.in("X");
  c.out("Residual") = c.in("X");
}

void lower_huber(LowerContext& c) {
  const std::string residual = c.apply("elementwise_sub", c.in("Y"), c.in("X"));
  const std::string slope = cut_off(c, residual, c.attr<float>("delta"));
  c.result("Residual", residual);
  c.result("Out", c.apply("elementwise_mul", slope,
                          c.apply("elementwise_sub", residual, times(c, slope, 0.5f))));
}

void infer_huber_grad(InferContext& c) {
  c.out("X@GRAD") = c.in("Residual");
  c.out("Y@GRAD") = c.in("Residual");
}

void lower_huber_grad(LowerContext& c) {
  const std::string slope = c.apply(
      "elementwise_mul", cut_off(c, c.in("Residual"), c.attr<float>("delta")), c.in("Out@GRAD"));
  c.result("X@GRAD", times(c, slope, -1));
  c.result("Y@GRAD", slope);
}

const OpDef& huber_loss = define_op({
    .type = "huber_loss",
    .doc = "Half the square of small differences, and the size of large ones.",
    .inputs = {{"X", "predictions"}, {"Y", "targets"}},
    .outputs = {{.name = "Out", .doc = "a loss for each prediction", .like = "X"},
                {.name = "Residual", .doc = "Y - X", .no_grad = true, .like = "X"}},
    .attrs = {{"delta", 1.0f, "where the square becomes a straight line"}},
    .infer = infer_huber,
    .grad = grad_op({"Residual"}, {.lower = lower_huber_grad, .infer = infer_huber_grad}),
    .lower = lower_huber,
});

// ---- smooth_l1_loss -----------------------------------------------------------------------------

void infer_smooth(InferContext& c) {
  check_same_shape(c, "Y");
  for (const std::string_view slot : {"InsideWeight", "OutsideWeight"}) {
    if (c.has_in(slot)) check_same_shape(c, slot);
  }
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X must have rank 2 or more, but has shape {}", x);
  c.out("Diff") = c.in("X");
  c.out("Out") = c.in("X");
  c.out("Out").shape = {x[0], 1};
}

float sigma2_of(const LowerContext& c) { return c.attr<float>("sigma") * c.attr<float>("sigma"); }

std::string weighted(LowerContext& c, const std::string& x, std::string_view slot) {
  return c.has(slot) ? c.apply("elementwise_mul", x, c.in(slot)) : x;
}

void lower_smooth(LowerContext& c) {
  const float sigma2 = sigma2_of(c);
  const std::string diff =
      weighted(c, c.apply("elementwise_sub", c.in("X"), c.in("Y")), "InsideWeight");
  const std::string slope = cut_off(c, times(c, diff, sigma2), 1);
  const std::string rest = c.apply("elementwise_sub", diff, times(c, slope, 0.5f / sigma2));
  const std::string loss = weighted(c, c.apply("elementwise_mul", slope, rest), "OutsideWeight");
  std::vector<int32_t> axes;
  for (int64_t a = 1; a < c.shape("X").rank(); ++a) axes.push_back(static_cast<int32_t>(a));
  c.result("Diff", diff);
  c.result("Out", c.apply("reshape2", c.apply("reduce_sum", loss, {{"dim", axes}}),
                          {{"shape", std::vector<int32_t>{-1, 1}}}));
}

void infer_smooth_grad(InferContext& c) {
  const Shape &diff = c.in("Diff").shape, &gradient = c.in("Out@GRAD").shape;
  require(diff.rank() >= 2 && (!gradient.known() || diff[0] < 0 || gradient.numel() == diff[0]),
          "Out@GRAD must have a number for each row of Diff, but they are {} and {}", gradient,
          diff);
  c.out("X@GRAD") = c.in("Diff");
  c.out("Y@GRAD") = c.in("Diff");
}

void lower_smooth_grad(LowerContext& c) {
  const std::string rows =
      c.apply("reshape2", c.in("Out@GRAD"), {{"shape", std::vector<int32_t>{-1}}});
  std::string slope = cut_off(c, times(c, c.in("Diff"), sigma2_of(c)), 1);
  slope = c.apply("elementwise_mul", slope, rows, {{"axis", 0}});
  slope = weighted(c, weighted(c, slope, "InsideWeight"), "OutsideWeight");
  c.result("X@GRAD", slope);
  c.result("Y@GRAD", times(c, slope, -1));
}

const Slot kInside = {
    .name = "InsideWeight", .doc = "factors of the differences", .optional = true, .no_grad = true};
const Slot kOutside = {
    .name = "OutsideWeight", .doc = "factors of the losses", .optional = true, .no_grad = true};

Slot like_diff(Slot slot) {
  slot.like = "Diff";
  return slot;
}

const OpDef& smooth_l1_loss = define_op({
    .type = "smooth_l1_loss",
    .doc = "Row sums of the squares of small differences and of the sizes of large ones.",
    .inputs = {{"X", "predictions, [rows, ...]"}, {"Y", "targets"}, kInside, kOutside},
    .outputs = {{.name = "Diff", .doc = "weighted differences", .no_grad = true},
                {"Out", "[rows, 1]"}},
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
