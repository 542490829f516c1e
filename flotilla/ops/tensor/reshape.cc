// flotilla/ops/tensor/reshape.cc
//
// reshape, and what all operators of reshape.h share.

#include "flotilla/ops/tensor/reshape.h"

#include <algorithm>

#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// The gradient of a form with XShape.
void infer_grad2(InferContext& c) {
  const VarMeta& dout = c.in("Out@GRAD");
  const Shape& x = c.in("XShape").shape;
  require(x.rank() >= 1, "XShape must be [0, extents of X...], but is {}", x);
  c.out("X@GRAD") = VarMeta::tensor(dout.dtype, Shape(Ints(x.begin() + 1, x.end())));
}

Step forward(PrepareContext& c) { return pass_through(c, "X", "Out"); }
Step backward(PrepareContext& c) { return pass_through(c, "Out@GRAD", "X@GRAD"); }

const IntSource kShape = {"Shape", "ShapeTensor", "shape"};

void infer_reshape(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const MaybeInts asked = ints_of(c, kShape);
  const Ints extents = extents_of(c, kShape);
  const bool all_known = std::all_of(asked.begin(), asked.end(), [](auto& e) { return !!e; });
  set_outputs(c, all_known ? resolve_reshape(x, extents) : Shape(extents));
}

const bool kDefined = define_reshapings(
    {"reshape",
     "Gives X the extents `shape`; 0 keeps an extent of X, one -1 is worked out.",
     with_slots_of({kShape}, {{.name = "X", .doc = "tensor"}}),
     {{"shape", std::vector<int32_t>{}, "extents; 0 keeps one of X, -1 is worked out"}},
     infer_reshape});

}  // namespace

bool define_reshaping(const Reshaping& row, const std::string& type, bool with_x_shape) {
  OpDef def{.type = type,
            .doc = row.doc,
            .inputs = row.inputs,
            .outputs = {{.name = "Out", .doc = "the elements of X with other extents"}},
            .attrs = row.attrs,
            .infer = row.infer,
            .kernels = every_dtype(forward),
            .dtype_slot = "X"};
  if (with_x_shape) {
    const Slot x_shape = {.name = "XShape", .doc = "the extents of X", .shape_only = true};
    def.outputs.push_back(x_shape_slot());
    def.grad = grad_op(
        {"XShape"}, {.kernels = every_dtype(backward), .infer = infer_grad2, .inputs = {x_shape}});
  } else {
    def.grad =
        grad_op({shape_of("X")}, {.kernels = every_dtype(backward), .inputs = {unread("Out")}});
  }
  define_op(std::move(def));
  return true;
}

bool define_reshapings(const Reshaping& row) {
  return define_reshaping(row, row.type, false) && define_reshaping(row, row.type + "2", true);
}

}  // namespace flotilla::ops
