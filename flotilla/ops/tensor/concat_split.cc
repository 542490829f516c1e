// concat joins tensors along an axis, split cuts one; see pieces.h. Each is the gradient of the
// other.

#include "flotilla/ops/tensor/pieces.h"

namespace flotilla::ops {
namespace {

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

const OpDef& concat = define_op({
    .type = "concat",
    .doc = "Joins tensors along an axis.",
    .inputs = with_slots_of({kAxisSource}, {{.name = "X", .doc = "tensors", .list = true}}),
    .outputs = {{.name = "Out", .doc = "the tensors side by side"}},
    .attrs = {kPiecesAxis},
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
    .attrs = {kPiecesAxis,
              {"num", int32_t{0}, "number of equal pieces; 0: by `sections`"},
              {"sections", std::vector<int32_t>{}, "extents of the pieces; one may be -1"}},
    .infer = infer_split,
    .grad = custom_grad(split_grad),
    .kernels = every_dtype(split_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
