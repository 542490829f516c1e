// stack joins tensors of one shape along a new axis; unstack and unbind cut a tensor into slices,
// which lose the axis. See pieces.h.

#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/pieces.h"

namespace flotilla::ops {
namespace {

// `shape` with one more axis, whose place is counted among those of the result.
Shape with_axis(const Shape& shape, int64_t axis, size_t extent) {
  const int64_t rank = shape.rank() + 1;
  require(-rank <= axis && axis < rank,
          "axis must lie in [{}, {}) because X has shape {}, but axis is {}", -rank, rank, shape,
          axis);
  Ints dims = shape.dims();
  dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), static_cast<int64_t>(extent));
  return Shape(std::move(dims));
}

Shape without(const Shape& shape, int64_t axis) {
  Ints dims = shape.dims();
  dims.erase(dims.begin() + axis);
  return Shape(std::move(dims));
}

void infer_stack(InferContext& c) {
  Shape shape = c.in("X").shape;
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    require(meet(shape, x.shape) && x.dtype == c.dtype("X"),
            "the tensors to stack must be alike, but X[0] is {}{} and X[{}] is {}{}", c.dtype("X"),
            c.in("X").shape, i, x.dtype, x.shape);
  }
  const int64_t axis = c.attr<int64_t>("axis");
  VarMeta out = VarMeta::tensor(c.dtype("X"), with_axis(shape, axis, c.in_count("X")));
  if (axis == 0 || axis == -out.shape.rank()) remember(out, all_values(c));
  c.out("Y") = std::move(out);
}

// The whole in slot `whole` has extent one for each piece.
Cut slices_cut(PrepareContext& c, std::string_view whole) {
  const Shape& shape = c.shape(whole);
  const int64_t axis = shape.axis(c.attr<int64_t>("axis"));
  return cut_of(shape, axis, Ints(static_cast<size_t>(shape[axis]), 1), c.dtype(whole));
}

Step stack_forward(PrepareContext& c) { return join(c, "X", "Y", slices_cut(c, "Y")); }
Step stack_backward(PrepareContext& c) {
  return cut_up(c, "Y@GRAD", "X@GRAD", slices_cut(c, "Y@GRAD"));
}
Step unstack_backward(PrepareContext& c) {
  return join(c, "Y@GRAD", "X@GRAD", slices_cut(c, "X@GRAD"));
}

Step slices_forward(PrepareContext& c) {
  return cut_up(c, "X", c.count("Y") > 0 ? "Y" : "Out", slices_cut(c, "X"));
}

void infer_stack_grad(InferContext& c) {
  const VarMeta& dy = c.in("Y@GRAD");
  const VarMeta slice = like(dy, without(dy.shape, dy.shape.axis(c.attr<int64_t>("axis"))));
  for (size_t i = 0; i < c.out_count("X@GRAD"); ++i) c.out("X@GRAD", i) = slice;
}

void infer_slices(InferContext& c) {
  const VarMeta& x = c.in("X");
  const std::string& out = c.def().outputs.front().name;
  const int64_t axis = x.shape.axis(c.attr<int64_t>("axis"));
  const int64_t pieces = static_cast<int64_t>(c.out_count(out));
  require(x.shape[axis] == pieces || x.shape[axis] == -1,
          "axis {} of X, which has shape {}, gives {} slices, but there are {} outputs", axis,
          x.shape, x.shape[axis], pieces);
  for (size_t i = 0; i < c.out_count(out); ++i) {
    c.out(out, i) = VarMeta::tensor(x.dtype, without(x.shape, axis));
  }
}

void infer_unstack_grad(InferContext& c) {
  const VarMeta& dy = c.in("Y@GRAD");
  for (size_t i = 1; i < c.in_count("Y@GRAD"); ++i) {
    const Shape& other = c.in("Y@GRAD", i).shape;
    require(fits(other, dy.shape),
            "gradients of slices must have one shape, but Y@GRAD[0] is {} and Y@GRAD[{}] is {}",
            dy.shape, i, other);
  }
  c.out("X@GRAD") =
      VarMeta::tensor(dy.dtype, with_axis(dy.shape, c.attr<int64_t>("axis"), c.in_count("Y@GRAD")));
}

void unbind_grad(GradContext& g) {
  const std::string grad = g.input_grad("X");
  if (grad.empty()) return;
  g.emit("stack", {{"X", output_grads(g, "Out")}}, {{"Y", {grad}}},
         {{"axis", g.op().attr_or("axis", 0)}});
}

const OpDef& stack = define_op({
    .type = "stack",
    .doc = "Joins tensors of one shape along a new axis.",
    .inputs = {{.name = "X", .doc = "tensors of one shape", .list = true}},
    .outputs = {{.name = "Y", .doc = "one axis more than X"}},
    .attrs = {{"axis", int32_t{0}, "index of the new axis"}},
    .infer = infer_stack,
    .grad = grad_op({"X"}, {.kernels = every_dtype(stack_backward),
                            .infer = infer_stack_grad,
                            .inputs = {several(unread("X", "inputs of stack"))}}),
    .kernels = every_dtype(stack_forward),
});

const OpDef& define_slices(const std::string& type, const std::string& out,
                           std::vector<AttrSpec> attrs, GradRule grad) {
  return define_op({.type = type,
                    .doc = "Cuts X into its slices along an axis, which disappears.",
                    .inputs = {kWhole},
                    .outputs = {{.name = out, .doc = "the slices", .list = true}},
                    .attrs = std::move(attrs),
                    .infer = infer_slices,
                    .grad = std::move(grad),
                    .kernels = every_dtype(slices_forward)});
}

const OpDef& unstack = define_slices(
    "unstack", "Y", {kPiecesAxis, {"num", int32_t{0}, "number of slices"}},
    grad_op({}, {.kernels = every_dtype(unstack_backward), .infer = infer_unstack_grad}));
const OpDef& unbind = define_slices("unbind", "Out", {kPiecesAxis}, custom_grad(unbind_grad));

}  // namespace
}  // namespace flotilla::ops
