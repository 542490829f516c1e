// flotilla/ops/tensor/transpose.cc
//
// transpose2 and transpose: the axes of X in another order. Axis i of Out is axis axis[i] of X.

#include <algorithm>

#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

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

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  Ints dims;
  for (const int64_t axis : order_of(c, x.shape)) dims.push_back(x.shape[axis]);
  c.out("Out") = VarMeta::tensor(x.dtype, Shape(dims));
  dims = x.shape.dims();
  dims.insert(dims.begin(), 0);
  c.out("XShape") = VarMeta::tensor(x.dtype, Shape(std::move(dims)));
}

void infer_grad(InferContext& c) {
  const VarMeta& dout = c.in("Out@GRAD");
  const Ints order = order_of(c, dout.shape);
  VarMeta grad = VarMeta::tensor(dout.dtype, dout.shape);
  for (size_t a = 0; a < order.size(); ++a) {
    grad.shape[order[a]] = dout.shape[static_cast<int64_t>(a)];
  }
  c.out("X@GRAD") = std::move(grad);
}

// Strides of X in the order of Out's axes.
Ints permuted(const Ints& strides, const Ints& order) {
  Ints made;
  for (const int64_t axis : order) made.push_back(strides[static_cast<size_t>(axis)]);
  return made;
}

Step forward(PrepareContext& c) {
  const Shape &x = c.shape("X"), &out = c.shape("Out");
  const BoxCopy copy(out.dims(), dense_strides(out), permuted(dense_strides(x), order_of(c, x)),
                     size_of(c.dtype("X")));
  return [copy, in = c.in_bytes("X"), to = c.out_bytes("Out")] { copy.run(to.data(), in.data()); };
}

// Walks in the order of X, so that what is written lies together.
Step backward(PrepareContext& c) {
  const Shape &dx = c.shape("X@GRAD"), &dout = c.shape("Out@GRAD");
  const Ints order = order_of(c, dx), strides = dense_strides(dout);
  Ints from(order.size());
  for (size_t a = 0; a < order.size(); ++a) from[static_cast<size_t>(order[a])] = strides[a];
  const BoxCopy copy(dx.dims(), dense_strides(dx), from, size_of(c.dtype("X@GRAD")));
  return [copy, in = c.in_bytes("Out@GRAD"), to = c.out_bytes("X@GRAD")] {
    copy.run(to.data(), in.data());
  };
}

void define(const std::string& type, std::vector<Slot> outputs, GradRule grad) {
  outputs.insert(outputs.begin(), {.name = "Out", .doc = "the elements of X"});
  grad.op.kernels = every_dtype(backward);
  grad.op.infer = infer_grad;
  define_op(
      {.type = type,
       .doc = "The axes of X in another order.",
       .inputs = {{.name = "X", .doc = "tensor"}},
       .outputs = std::move(outputs),
       .attrs = {{"axis", std::vector<int32_t>{}, "for each axis of Out, which axis of X it is"},
                 {"data_format", std::string("AnyLayout"), "not used"}},
       .infer = infer,
       .grad = std::move(grad),
       .kernels = every_dtype(forward)});
}

const bool kDefined = [] {
  const auto unneeded = [](const char* slot) {
    return Slot{.name = slot, .doc = "not needed", .optional = true, .shape_only = true};
  };
  define("transpose", {}, grad_op({"X"}, {.inputs = {unneeded("X"), unneeded("Out")}}));
  define("transpose2",
         {{.name = "XShape",
           .doc = "empty; its shape holds the extents of X",
           .optional = true,
           .no_grad = true}},
         grad_op({shape_of("XShape")}));
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
