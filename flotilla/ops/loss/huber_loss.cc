// huber_loss:          Residual = Y - X;  Out = r^2 / 2 where |r| <= delta, else
//                      delta (|r| - delta / 2)
// modified_huber_loss: of labels 0 and 1, IntermediateVal v = (2 Y - 1) X;  Out = (1 - v)^2, but 0
//                      where v > 1 and -4 v where v < -1

#include "flotilla/ops/loss/cut_square.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_same_shape(c, "Y");
  set_all_like(c);
}

std::string huber_slope(LowerContext& c, const std::string& residual) {
  const auto delta = c.attr<float>("delta");
  return c.clip(residual, -delta, delta);
}

void lower_huber(LowerContext& c) {
  const std::string residual = c.sub(c.in("Y"), c.in("X"));
  c.result("Residual", residual);
  c.result("Out", cut_square(c, residual, huber_slope(c, residual)));
}

void infer_huber_grad(InferContext& c) { set_all_like(c, "Residual"); }

void lower_huber_grad(LowerContext& c) {
  const std::string slope = c.mul(huber_slope(c, c.in("Residual")), c.in("Out@GRAD"));
  c.result("X@GRAD", c.scale(slope, -1));
  c.result("Y@GRAD", slope);
}

const OpDef& huber_loss = define_op({
    .type = "huber_loss",
    .doc = "Half the square of small differences, and the size of large ones.",
    .inputs = {{"X", "predictions"}, {"Y", "targets"}},
    .outputs = {{.name = "Out", .doc = "a loss for each prediction", .like = "X"},
                {.name = "Residual", .doc = "Y - X", .no_grad = true, .like = "X"}},
    .attrs = {{"delta", 1.0f, "where the square becomes a straight line"}},
    .infer = infer,
    .grad = grad_op({"Residual"}, {.lower = lower_huber_grad, .infer = infer_huber_grad}),
    .lower = lower_huber,
});

void lower_modified(LowerContext& c) {
  const std::string value = c.mul(c.in("X"), c.scale(c.in("Y"), 2, -1));
  const std::string room = c.scale(value, -1, 1);
  c.result("IntermediateVal", value);
  c.result("Out", c.scale(cut_square(c, room, c.clip(room, 0, 2)), 2));
}

void lower_modified_grad(LowerContext& c) {
  const std::string slope = c.clip(c.scale(c.in("IntermediateVal"), -1, 1), 0, 2);
  const std::string towards_x = c.mul(slope, c.scale(c.in("Y"), 2, -1));
  c.result("X@GRAD", c.scale(c.mul(towards_x, c.in("Out@GRAD")), -2));
}

const OpDef& modified_huber_loss = define_op({
    .type = "modified_huber_loss",
    .doc = "How far predictions are on the wrong side of a margin, squared where that is little.",
    .inputs = {{"X", "predictions"}, constant("Y", "0 or 1")},
    .outputs = {{.name = "IntermediateVal", .doc = "(2 Y - 1) X", .no_grad = true, .like = "X"},
                {.name = "Out", .doc = "a loss for each prediction", .like = "X"}},
    .infer = infer,
    .grad = grad_op({"Y", "IntermediateVal"}, {.lower = lower_modified_grad}),
    .lower = lower_modified,
});

}  // namespace
}  // namespace flotilla::ops
