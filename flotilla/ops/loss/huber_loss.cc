// huber_loss:          Residual = Y - X;  Out = r^2 / 2 where |r| <= delta, else
//                      delta (|r| - delta / 2)
// modified_huber_loss: of labels 0 and 1, IntermediateVal v = (2 Y - 1) X;  Out = (1 - v)^2, but 0
//                      where v > 1 and -4 v where v < -1

#include "flotilla/ops/loss/cut_square.h"

namespace flotilla::ops {
namespace {

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

}  // namespace
}  // namespace flotilla::ops
