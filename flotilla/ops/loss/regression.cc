// flotilla/ops/loss/regression.cc
//
// huber_loss:          Residual = Y - X;  Out = r^2 / 2 where |r| <= delta, else
//                      delta (|r| - delta / 2)
// modified_huber_loss: of labels 0 and 1, IntermediateVal v = (2 Y - 1) X;  Out = (1 - v)^2, but 0
//                      where v > 1 and -4 v where v < -1
// smooth_l1_loss:      Diff = InsideWeight (X - Y);  Out = row sums of OutsideWeight f(Diff), where
//                      f(d) = (sigma d)^2 / 2 for |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)
//
// All are a (r - a / 2), or twice that, for a = r, cut off where the square ends; a is the slope,
// too.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

std::string times(LowerContext& c, const std::string& x, float factor) {
  return factor == 1 ? x : c.apply("scale", x, {{"scale", factor}});
}

std::string cut_off(LowerContext& c, const std::string& x, float low, float high) {
  return c.apply("clip", x, {{"min", low}, {"max", high}});
}

// `slope` is what has become of `r`.
std::string cut_square(LowerContext& c, const std::string& r, const std::string& slope,
                       float half = 0.5f) {
  return c.apply("elementwise_mul", slope, c.apply("elementwise_sub", r, times(c, slope, half)));
}

// ---- huber_loss ---------------------------------------------------------------------------------

void infer_huber(InferContext& c) {
  check_same_shape(c, "Y");
  c.out("Out") = c.out("Residual") = c.in("X");
}

std::string huber_slope(LowerContext& c, const std::string& residual) {
  const auto delta = c.attr<float>("delta");
  return cut_off(c, residual, -delta, delta);
}

void lower_huber(LowerContext& c) {
  const std::string residual = c.apply("elementwise_sub", c.in("Y"), c.in("X"));
  c.result("Residual", residual);
  c.result("Out", cut_square(c, residual, huber_slope(c, residual)));
}

void infer_huber_grad(InferContext& c) { c.out("X@GRAD") = c.out("Y@GRAD") = c.in("Residual"); }

void lower_huber_grad(LowerContext& c) {
  const std::string slope =
      c.apply("elementwise_mul", huber_slope(c, c.in("Residual")), c.in("Out@GRAD"));
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

// ---- modified_huber_loss ------------------------------------------------------------------------

void infer_modified(InferContext& c) {
  check_same_shape(c, "Y");
  c.out("Out") = c.out("IntermediateVal") = c.in("X");
}

std::string sign_of_label(LowerContext& c) {
  return c.apply("scale", c.in("Y"), {{"scale", 2.0f}, {"bias", -1.0f}});
}

std::string room_of(LowerContext& c, const std::string& value) {
  return c.apply("scale", value, {{"scale", -1.0f}, {"bias", 1.0f}});
}

void lower_modified(LowerContext& c) {
  const std::string value = c.apply("elementwise_mul", c.in("X"), sign_of_label(c));
  const std::string room = room_of(c, value);
  c.result("IntermediateVal", value);
  c.result("Out", times(c, cut_square(c, room, cut_off(c, room, 0, 2)), 2));
}

void lower_modified_grad(LowerContext& c) {
  const std::string slope = cut_off(c, room_of(c, c.in("IntermediateVal")), 0, 2);
  const std::string towards_x = c.apply("elementwise_mul", slope, sign_of_label(c));
  c.result("X@GRAD", times(c, c.apply("elementwise_mul", towards_x, c.in("Out@GRAD")), -2));
}

const OpDef& modified_huber_loss = define_op({
    .type = "modified_huber_loss",
    .doc = "How far predictions are on the wrong side of a margin, squared where that is little.",
    .inputs = {{"X", "predictions"}, constant("Y", "0 or 1")},
    .outputs = {{.name = "IntermediateVal", .doc = "(2 Y - 1) X", .no_grad = true, .like = "X"},
                {.name = "Out", .doc = "a loss for each prediction", .like = "X"}},
    .infer = infer_modified,
    .grad = grad_op({"Y", "IntermediateVal"}, {.lower = lower_modified_grad}),
    .lower = lower_modified,
});

// ---- smooth_l1_loss -----------------------------------------------------------------------------

void infer_smooth(InferContext& c) {
  for (const char* slot : {"Y", "InsideWeight", "OutsideWeight"}) check_same_shape(c, slot);
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X must have rank 2 or more, but has shape {}", x);
  c.out("Diff") = c.in("X");
  c.out("Out") = like(c.in("X"), Shape{x[0], 1});
}

float sigma2_of(const LowerContext& c) { return c.attr<float>("sigma") * c.attr<float>("sigma"); }

std::string weighted(LowerContext& c, const std::string& x, std::string_view slot) {
  return c.has(slot) ? c.apply("elementwise_mul", x, c.in(slot)) : x;
}

void lower_smooth(LowerContext& c) {
  const float sigma2 = sigma2_of(c);
  const std::string diff =
      weighted(c, c.apply("elementwise_sub", c.in("X"), c.in("Y")), "InsideWeight");
  const std::string slope = cut_off(c, times(c, diff, sigma2), -1, 1);
  const std::string loss = weighted(c, cut_square(c, diff, slope, 0.5f / sigma2), "OutsideWeight");
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
  c.out("X@GRAD") = c.out("Y@GRAD") = c.in("Diff");
}

void lower_smooth_grad(LowerContext& c) {
  const std::string rows =
      c.apply("reshape2", c.in("Out@GRAD"), {{"shape", std::vector<int32_t>{-1}}});
  std::string slope = cut_off(c, times(c, c.in("Diff"), sigma2_of(c)), -1, 1);
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
