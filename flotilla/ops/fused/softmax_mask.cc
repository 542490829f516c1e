// flotilla/ops/fused/softmax_mask.cc
//
// Chances of attention, [batch, heads, rows, columns]:
//
//   fused_softmax_mask                 softmax(X + Mask), where all heads have one mask
//   fused_softmax_mask_upper_triangle  softmax of each row up to the diagonal, zeros behind it

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

const Shape& check_rank(const InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  return x;
}

void infer_masked(InferContext& c) {
  const Shape &x = check_rank(c), &mask = c.in("Mask").shape;
  require(fits(mask, {x[0], 1, x[2], x[3]}),
          "Mask must have the shape of X with one head, but they are {} and {}", mask, x);
  c.out("Out") = like(c.in("X"));
}

void infer_triangle(InferContext& c) {
  const Shape& x = check_rank(c);
  require(fits(x[2], x[3]), "X must have as many rows as columns, but has shape {}", x);
  c.out("Out") = like(c.in("X"));
}

void lower_masked(LowerContext& c) {
  c.result("Out", c.apply("softmax", c.apply("elementwise_add", c.in("X"), c.in("Mask"))));
}

void lower_triangle(LowerContext& c) {
  const std::string far = c.apply("fill_any_like", c.in("X"), {{"value", -1e30f}});
  const std::string mask = c.apply("tril_triu", far, {{"diagonal", 1}});
  const std::string near = c.apply("softmax", c.apply("elementwise_add", c.in("X"), mask));
  c.result("Out", c.apply("tril_triu", near, {{"lower", true}}));
}

// What is masked has no chance, and so no gradient.
void lower_grad(LowerContext& c) {
  const std::string& out = c.in(c.has("Softmax") ? "Softmax" : "Out");
  c.result("X@GRAD", c.append("softmax_grad", {{"Out", {out}}, {"Out@GRAD", {c.in("Out@GRAD")}}}));
}

// Paddle's gradient op of a masked one has another name for the result.
void spell_out_softmax(Block& block, size_t position) {
  Op& op = block.op(position);
  if (op.has_input("Out")) op.set_input("Softmax", {op.input("Out")});
  op.set_input("Out", {});
}

const Slot kX = {.name = "X", .doc = "[batch, heads, rows, columns]"};
const Slot kOut = {.name = "Out", .doc = "same shape as X", .like = "X"};

const OpDef& masked = define_op({
    .type = "fused_softmax_mask",
    .doc = "The softmax of X + Mask.",
    .inputs = {kX, {.name = "Mask", .doc = "[batch, 1, rows, columns]", .no_grad = true}},
    .outputs = {kOut},
    .infer = infer_masked,
    .grad = grad_op({"Out"}, {.lower = lower_grad,
                              .inputs = {{.name = "Out", .doc = "as before", .optional = true},
                                         {.name = "Softmax", .doc = "Out", .optional = true}},
                              .spell_out = spell_out_softmax}),
    .lower = lower_masked,
});

const OpDef& triangle = define_op({
    .type = "fused_softmax_mask_upper_triangle",
    .doc = "The softmax of each row of X up to the diagonal.",
    .inputs = {kX},
    .outputs = {kOut},
    .infer = infer_triangle,
    .grad = grad_op({"Out"}, {.lower = lower_grad}),
    .lower = lower_triangle,
});

}  // namespace
}  // namespace flotilla::ops
