// flotilla/ops/tensor/transpose.cc
//
// transpose2 and transpose: the axes of X in another order. Axis i of Out is axis axis[i] of X.

#include <algorithm>

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/x_shape.h"

namespace flotilla::ops {
namespace {

// The permutation counted from the front; refuses what is none.
template <typename Context>
Ints order_of(const Context& c, const Shape& shape) {
  Ints order = c.template attr<Ints>("axis");
  for (int64_t& axis : order) axis = axis < 0 ? axis + shape.rank() : axis;
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = static_cast<int64_t>(sorted.size()) == shape.rank();
  for (size_t a = 0; permutes && a < sorted.size(); ++a) {
    permutes = sorted[a] == static_cast<int64_t>(a);
  }
  require(permutes, "axis must name each axis of X, which has shape {}, once, but is {}", shape,
          Shape(c.template attr<Ints>("axis")));
  return order;
}

// The order that leads back.
Ints back(const Ints& order) {
  Ints made(order.size());
  for (size_t a = 0; a < order.size(); ++a) {
    made[static_cast<size_t>(order[a])] = static_cast<int64_t>(a);
  }
  return made;
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  c.out("Out") = VarMeta::tensor(x.dtype, Shape(permuted(x.shape.dims(), order_of(c, x.shape))));
  c.out("XShape") = x_shape_of(x);
}

void infer_grad(InferContext& c) {
  const VarMeta& dout = c.in("Out@GRAD");
  const Ints order = back(order_of(c, dout.shape));
  c.out("X@GRAD") = VarMeta::tensor(dout.dtype, Shape(permuted(dout.shape.dims(), order)));
}

Step turn(PrepareContext& c, std::string_view in, std::string_view out, const Ints& order) {
  const Shape& x = c.shape(in);
  return take_box(c, in, out, {permuted(x.dims(), order), permuted(dense_strides(x), order)});
}

Step forward(PrepareContext& c) { return turn(c, "X", "Out", order_of(c, c.shape("X"))); }
Step backward(PrepareContext& c) {
  return turn(c, "Out@GRAD", "X@GRAD", back(order_of(c, c.shape("Out@GRAD"))));
}

const OpDef& define(const std::string& type, std::vector<Slot> outputs, GradRule grad) {
  outputs.insert(outputs.begin(), {.name = "Out", .doc = "the elements of X"});
  grad.op.kernels = every_dtype(backward);
  grad.op.infer = infer_grad;
  return define_op(
      {.type = type,
       .doc = "The axes of X in another order.",
       .inputs = {{.name = "X", .doc = "tensor"}},
       .outputs = std::move(outputs),
       .attrs = {{"axis", std::vector<int32_t>{}, "for each axis of Out, which axis of X it is"},
                 {"data_format", std::string("AnyLayout"), "ignored"}},
       .infer = infer,
       .grad = std::move(grad),
       .kernels = every_dtype(forward)});
}

const OpDef& transpose =
    define("transpose", {}, grad_op({"X"}, {.inputs = {unread("X"), unread("Out")}}));
const OpDef& transpose2 = define("transpose2", {x_shape_slot()}, grad_op({shape_of("XShape")}));

}  // namespace
}  // namespace flotilla::ops
