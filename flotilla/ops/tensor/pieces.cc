// flotilla/ops/tensor/pieces.cc
//
// Several tensors that lie side by side along an axis of one: concat and stack join them, split,
// unstack and unbind cut them. The gradient of one kind is the other.
//
//     whole    row 0: [ piece 0 | piece 1 | piece 2 ]     one row for each index before the axis
//              row 1: [ piece 0 | piece 1 | piece 2 ]

#include <algorithm>
#include <cstring>
#include <numeric>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

struct Cut {
  int64_t rows = 0;
  Ints widths = {};  // bytes of each piece in a row

  int64_t total() const { return std::accumulate(widths.begin(), widths.end(), int64_t{0}); }
};

// The whole has `shape`; its axis is cut into pieces of these extents.
Cut cut_of(const Shape& shape, int64_t axis, const Ints& extents, DType dtype) {
  Cut cut{.rows = shape.numel(0, axis)};
  const int64_t inner = shape.numel(axis + 1, shape.rank()) * size_of(dtype);
  for (const int64_t extent : extents) cut.widths.push_back(extent * inner);
  return cut;
}

constexpr int64_t kGrainBytes = 64 << 10;

int64_t grain_of(int64_t total) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(total, 1));
}

// Calls f(i, in_piece, in_whole, width) for piece i of each row: where it begins, and its bytes.
template <typename F>
void for_pieces(const Cut& cut, F f) {
  const int64_t total = cut.total();
  parallel_ranges(cut.rows, grain_of(total), [&](int64_t begin, int64_t end) {
    int64_t at = begin * total;
    for (int64_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < cut.widths.size(); ++i) {
        const int64_t width = cut.widths[i];
        f(i, row * width, at, static_cast<size_t>(width));
        at += width;
      }
    }
  });
}

// Pieces to whole. A piece that is not there counts as zeros.
Step join(PrepareContext& c, std::string_view pieces, std::string_view whole, const Cut& cut) {
  std::vector<In<char>> from;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    from.push_back(c.has(pieces, i) ? c.in_bytes(pieces, i) : In<char>());
  }
  return [cut, from, to = c.out_bytes(whole)] {
    for_pieces(cut, [&, out = to.data()](size_t i, int64_t in_piece, int64_t at, size_t width) {
      if (from[i]) {
        std::memcpy(out + at, from[i].data() + in_piece, width);
      } else {
        std::memset(out + at, 0, width);
      }
    });
  };
}

// Whole to pieces. A piece that nobody needs is left out.
Step cut_up(PrepareContext& c, std::string_view whole, std::string_view pieces, const Cut& cut) {
  std::vector<Out<char>> to;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    to.push_back(c.has(pieces, i) ? c.out_bytes(pieces, i) : Out<char>());
  }
  return [cut, from = c.in_bytes(whole), to] {
    for_pieces(cut, [&, in = from.data()](size_t i, int64_t in_piece, int64_t at, size_t width) {
      if (to[i]) std::memcpy(to[i].data() + in_piece, in + at, width);
    });
  };
}

// Takes over what `other` knows of the extents of `shape`, but along `axis`. False: they differ.
bool meet(Shape& shape, const Shape& other, int64_t axis = -1) {
  if (shape.rank() != other.rank()) return false;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    if (a == axis || other[a] == -1 || other[a] == shape[a]) continue;
    if (shape[a] != -1) return false;
    shape[a] = other[a];
  }
  return true;
}

// The elements of all inputs, in order, where they are known.
std::optional<Ints> all_values(const InferContext& c) {
  Ints all;
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    if (!x.value) return std::nullopt;
    all.insert(all.end(), x.value->begin(), x.value->end());
  }
  return all;
}

const IntSource kAxisSource = {.tensor = "AxisTensor", .attr = "axis"};

// Of concat and split: the extents of the variables in a slot are the widths.
Cut cut_by(PrepareContext& c, std::string_view pieces) {
  const Shape& x = c.shape("X");
  const int64_t axis = x.axis(known_int(c, kAxisSource));
  Ints extents;
  for (size_t i = 0; i < c.count(pieces); ++i) extents.push_back(c.shape(pieces, i)[axis]);
  return cut_of(x, axis, extents, c.dtype("X"));
}

// ---- concat -------------------------------------------------------------------------------------

Shape concat_shape(const InferContext& c, int64_t axis) {
  Shape out = c.in("X").shape;
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    const Shape& x = c.in("X", i).shape;
    require(meet(out, x, axis),
            "the tensors to concat must agree but for axis {}, but X[0] is {} and X[{}] is {}",
            axis, c.in("X").shape, i, x);
    out[axis] = out[axis] < 0 || x[axis] < 0 ? -1 : out[axis] + x[axis];
  }
  return out;
}

void infer_concat(InferContext& c) {
  const VarMeta& first = c.in("X");
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    require(c.dtype("X", i) == first.dtype,
            "the tensors to concat must have one dtype, but X[0] holds {} and X[{}] holds {}",
            first.dtype, i, c.dtype("X", i));
  }
  const std::optional<int64_t> given = known_int(c, kAxisSource);
  if (!given) {
    c.out("Out") = like(first, Shape(Ints(first.shape.dims().size(), -1)));
    return;
  }
  const int64_t axis = first.shape.axis(*given);
  VarMeta out = like(first, concat_shape(c, axis));
  if (axis == 0) out = VarMeta::tensor(out.dtype, out.shape);
  if (first.shape.rank() == 1) remember(out, all_values(c));
  c.out("Out") = std::move(out);
}

Step concat_forward(PrepareContext& c) { return join(c, "X", "Out", cut_by(c, "X")); }
Step concat_backward(PrepareContext& c) { return cut_up(c, "Out@GRAD", "X@GRAD", cut_by(c, "X")); }

const Slot kWhole = {.name = "X", .doc = "tensor of rank 1 or more"};
const AttrSpec kAxis = {"axis", int32_t{0}, "the axis along which the pieces lie side by side"};

const OpDef& concat = define_op({
    .type = "concat",
    .doc = "Joins tensors along an axis.",
    .inputs = with_slots_of({kAxisSource}, {{.name = "X", .doc = "tensors", .list = true}}),
    .outputs = {{.name = "Out", .doc = "the tensors side by side"}},
    .attrs = {kAxis},
    .infer = infer_concat,
    .grad = grad_op({shape_of("X"), "AxisTensor"}, {.kernels = every_dtype(concat_backward)}),
    .kernels = every_dtype(concat_forward),
    .dtype_slot = "X",
});

// ---- split --------------------------------------------------------------------------------------

const IntSource kSections = {.list = "SectionsTensorList", .attr = "sections"};

// Extents of the pieces; -1 where not known.
Ints split_extents(int64_t extent, int64_t num, const Ints& sections, size_t outputs) {
  if (sections.empty()) {
    const int64_t pieces = num > 0 ? num : static_cast<int64_t>(outputs);
    require(pieces == static_cast<int64_t>(outputs), "split makes {} pieces, but has {} outputs",
            pieces, outputs);
    require(extent < 0 || (pieces > 0 && extent % pieces == 0),
            "an axis of extent {} cannot be split into {} equal pieces", extent, pieces);
    return Ints(static_cast<size_t>(pieces), extent < 0 ? -1 : extent / pieces);
  }
  Ints extents = sections;
  const auto open = std::find(extents.begin(), extents.end(), -1);
  const bool several =
      open != extents.end() && std::find(open + 1, extents.end(), -1) != extents.end();
  if (extent < 0 || several) return extents;
  const int64_t sum = std::accumulate(extents.begin(), extents.end(), int64_t{0});
  if (open != extents.end()) *open = extent - (sum + 1);
  const int64_t full = open == extents.end() ? sum : extent;
  require(full == extent && (open == extents.end() || *open >= 0),
          "sections {} do not add up to {}, the extent of the axis", Shape(sections), extent);
  return extents;
}

void infer_split(InferContext& c) {
  const VarMeta& x = c.in("X");
  const std::optional<int64_t> given = known_int(c, kAxisSource);
  const int64_t axis = x.shape.axis(given.value_or(0));
  const Ints sections = extents_of(c, kSections);
  const size_t outputs = c.out_count("Out");
  const Ints extents = split_extents(x.shape[axis], c.attr<int64_t>("num"), sections, outputs);
  require(extents.size() == outputs, "split makes {} pieces, but has {} outputs", extents.size(),
          outputs);
  for (size_t i = 0; i < outputs; ++i) {
    VarMeta& out = c.out("Out", i) = like(x);
    out.shape[axis] = extents[i];
    if (!given) out.shape = Shape(Ints(x.shape.dims().size(), -1));
    if (axis == 0) out = VarMeta::tensor(out.dtype, out.shape);
  }
}

Step split_forward(PrepareContext& c) { return cut_up(c, "X", "Out", cut_by(c, "Out")); }

// The gradients of the outputs of a list slot; one into which nothing flowed is zero.
std::vector<std::string> output_grads(GradContext& g, std::string_view slot) {
  std::vector<std::string> grads;
  const auto outputs = g.op().output_list(slot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    grads.push_back(g.output_grad(slot, i));
    if (!grads.back().empty()) continue;
    const Var& output = g.block().var(outputs[i]);
    grads.back() = g.block().add_temporary("zero_grad", output.dtype, output.shape).name;
    g.emit("fill_zeros_like", {{"X", {output.name}}}, {{"Out", {grads.back()}}}, {});
  }
  return grads;
}

void split_grad(GradContext& g) {
  const std::string grad = g.input_grad("X");
  if (grad.empty()) return;
  Slots inputs = {{"X", output_grads(g, "Out")}};
  if (g.op().has_input("AxisTensor")) inputs["AxisTensor"] = {g.op().input("AxisTensor")};
  g.emit("concat", std::move(inputs), {{"Out", {grad}}}, {{"axis", g.op().attr_or("axis", 0)}});
}

const OpDef& split = define_op({
    .type = "split",
    .doc = "Cuts X along an axis, into `num` equal pieces or pieces of the extents `sections`.",
    .inputs = with_slots_of({kAxisSource, kSections}, {kWhole}),
    .outputs = {{.name = "Out", .doc = "the pieces", .list = true}},
    .attrs = {kAxis,
              {"num", int32_t{0}, "number of equal pieces; 0: by `sections`"},
              {"sections", std::vector<int32_t>{}, "extents of the pieces; one may be -1"}},
    .infer = infer_split,
    .grad = custom_grad(split_grad),
    .kernels = every_dtype(split_forward),
    .dtype_slot = "X",
});

// ---- stack, unstack, unbind ---------------------------------------------------------------------

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
    .attrs = {{"axis", int32_t{0}, "where the new axis stands"}},
    .infer = infer_stack,
    .grad = grad_op({"X"}, {.kernels = every_dtype(stack_backward),
                            .infer = infer_stack_grad,
                            .inputs = {{.name = "X",
                                        .doc = "inputs of stack",
                                        .optional = true,
                                        .list = true,
                                        .shape_only = true}}}),
    .kernels = every_dtype(stack_forward),
});

void define_slices(const std::string& type, const std::string& out, std::vector<AttrSpec> attrs,
                   GradRule grad) {
  define_op({.type = type,
             .doc = "Cuts X into its slices along an axis, which disappears.",
             .inputs = {kWhole},
             .outputs = {{.name = out, .doc = "the slices", .list = true}},
             .attrs = std::move(attrs),
             .infer = infer_slices,
             .grad = std::move(grad),
             .kernels = every_dtype(slices_forward)});
}

const bool kDefined = [] {
  define_slices(
      "unstack", "Y", {kAxis, {"num", int32_t{0}, "number of slices"}},
      grad_op({}, {.kernels = every_dtype(unstack_backward), .infer = infer_unstack_grad}));
  define_slices("unbind", "Out", {kAxis}, custom_grad(unbind_grad));
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
