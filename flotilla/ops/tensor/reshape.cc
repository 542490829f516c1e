// flotilla/ops/tensor/reshape.cc
//
// The operators that give a tensor other extents and leave its elements where they are: reshape,
// squeeze, unsqueeze, flatten. The forms whose names end in 2 also give XShape, an empty tensor of
// shape [0, extents of X...]: the gradient needs no more of X.

#include <algorithm>

#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"
#include "flotilla/ops/tensor/x_shape.h"

namespace flotilla::ops {
namespace {

const IntSource kShape = {"Shape", "ShapeTensor", "shape"};
const IntSource kAxes = {"AxesTensor", "AxesTensorList", "axes"};

void set_outputs(InferContext& c, const Shape& shape) {
  const VarMeta& x = c.in("X");
  const bool keeps_rows = x.shape.rank() > 0 && shape.rank() > 0 && shape[0] == x.shape[0];
  VarMeta out = keeps_rows ? like(x, shape) : VarMeta::tensor(x.dtype, shape);
  remember_same(out, x);
  c.out("XShape") = x_shape_of(x);
  c.out("Out") = std::move(out);
}

void infer_reshape(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const MaybeInts asked = ints_of(c, kShape);
  const Ints extents = extents_of(c, kShape);
  const bool all_known = std::all_of(asked.begin(), asked.end(), [](auto& e) { return !!e; });
  set_outputs(c, all_known ? resolve_reshape(x, extents) : Shape(extents));
}

void infer_squeeze(InferContext& c) {
  const Shape& x = c.in("X").shape;
  std::vector<bool> named(static_cast<size_t>(x.rank()), false);
  const Ints axes = c.attr<Ints>("axes");
  for (const int64_t axis : axes) named[static_cast<size_t>(x.axis(axis))] = true;
  Shape out;
  for (int64_t a = 0; a < x.rank(); ++a) {
    // An extent that is not one stays, named or not.
    const bool drop = x[a] == 1 && (axes.empty() || named[static_cast<size_t>(a)]);
    if (!drop) out.push_back(x[a]);
  }
  set_outputs(c, out);
}

void infer_unsqueeze(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const std::optional<Ints> known = known_ints(c, kAxes);
  if (!known) return set_outputs(c, Shape(Ints(ints_of(c, kAxes).size() + x.dims().size(), -1)));
  // One after the other: an axis is a place in what the ones before it have made.
  Ints dims = x.dims();
  for (const int64_t axis : *known) {
    const int64_t places = static_cast<int64_t>(dims.size()) + 1;
    require(-places <= axis && axis < places,
            "an axis to insert into shape {} must lie in [{}, {}), but is {}", Shape(dims), -places,
            places, axis);
    dims.insert(dims.begin() + (axis < 0 ? axis + places : axis), 1);
  }
  set_outputs(c, Shape(std::move(dims)));
}

void infer_flatten(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  require(0 <= axis && axis <= x.rank(),
          "axis must lie in [0, {}] because X has shape {}, but is {}", x.rank(), x, axis);
  set_outputs(c, {x.numel(0, axis), x.numel(axis, x.rank())});
}

void infer_flatten_range(InferContext& c) {
  const Shape& x = c.in("X").shape;
  if (x.rank() == 0) return set_outputs(c, {1});
  const int64_t start = x.axis(c.attr<int64_t>("start_axis"));
  const int64_t stop = x.axis(c.attr<int64_t>("stop_axis"));
  require(start <= stop, "start_axis must not come after stop_axis, but they are {} and {}", start,
          stop);
  Ints dims(x.begin(), x.begin() + start);
  dims.push_back(x.numel(start, stop + 1));
  dims.insert(dims.end(), x.begin() + stop + 1, x.end());
  set_outputs(c, Shape(std::move(dims)));
}

// The gradient of a form with XShape.
void infer_grad2(InferContext& c) {
  const VarMeta& dout = c.in("Out@GRAD");
  const Shape& x = c.in("XShape").shape;
  require(x.rank() >= 1, "XShape must be [0, extents of X...], but is {}", x);
  c.out("X@GRAD") = VarMeta::tensor(dout.dtype, Shape(Ints(x.begin() + 1, x.end())));
}

Step forward(PrepareContext& c) { return pass_through(c, "X", "Out"); }
Step backward(PrepareContext& c) { return pass_through(c, "Out@GRAD", "X@GRAD"); }

struct Row {
  std::string type;  // of the form without XShape
  std::string doc;
  std::vector<Slot> inputs;
  std::vector<AttrSpec> attrs;
  void (*infer)(InferContext&);
};

void define(const Row& row, const std::string& type, bool with_x_shape) {
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
    const Slot out = {.name = "Out", .doc = "its result", .optional = true, .shape_only = true};
    def.grad = grad_op({shape_of("X")}, {.kernels = every_dtype(backward), .inputs = {out}});
  }
  define_op(std::move(def));
}

const Slot kX = {.name = "X", .doc = "tensor"};

const std::vector<Row> kRows = {
    {"reshape",
     "Gives X the extents `shape`; 0 keeps an extent of X, one -1 is worked out.",
     with_slots_of({kShape}, {kX}),
     {{"shape", std::vector<int32_t>{}, "extents; 0 keeps one of X, -1 is worked out"}},
     infer_reshape},
    {"squeeze",
     "Drops the axes of X in `axes` that have extent 1; all of them where `axes` is empty.",
     {kX},
     {{"axes", std::vector<int32_t>{}, "axes to drop"}},
     infer_squeeze},
    {"unsqueeze",
     "Inserts axes of extent 1.",
     with_slots_of({kAxes}, {kX}),
     {{"axes", std::vector<int32_t>{}, "where to insert, one after the other"}},
     infer_unsqueeze},
    {"flatten",
     "Makes a matrix of X: the axes before `axis` become its rows, the others its columns.",
     {kX},
     {{"axis", int32_t{1}, "the first axis of the columns"}},
     infer_flatten},
    {"flatten_contiguous_range",
     "Makes one axis of the axes from `start_axis` to `stop_axis`.",
     {kX},
     {{"start_axis", int32_t{1}, "first axis to merge"},
      {"stop_axis", int32_t{1}, "last axis to merge"}},
     infer_flatten_range},
};

const bool kDefined = [] {
  for (const Row& row : kRows) {
    const bool one_form = row.type == "flatten_contiguous_range";
    if (!one_form) define(row, row.type, false);
    define(row, one_form ? row.type : row.type + "2", true);
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
