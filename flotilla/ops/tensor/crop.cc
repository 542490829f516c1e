// flotilla/ops/tensor/crop.cc
//
// crop, crop_tensor: the box of X of some extents, `offsets` behind its first element; an extent of
// -1 takes what is left of an axis.

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

const IntSource kOffsets = {"Offsets", "OffsetsTensor", "offsets"};
const IntSource kShape = {"Shape", "ShapeTensor", "shape"};

void check_within(const Shape& x, int64_t axis, int64_t offset, int64_t extent) {
  require(offset >= 0 && extent >= 0 && extent <= x[axis] - offset,
          "{} elements from {} on are no part of axis {} of X, which has shape {}", extent, offset,
          axis, x);
}

// One for each axis of X; zeros where the op names none.
template <typename Numbers>
Numbers checked_offsets(Numbers offsets, const Shape& x) {
  if (offsets.empty()) offsets.assign(x.dims().size(), 0);
  require(offsets.size() == x.dims().size(),
          "offsets must hold a number for each axis of X, which has shape {}, but holds {}", x,
          offsets.size());
  return offsets;
}

// Where a plan is made, all of them are known, or the op is left to the run.
MaybeInts extents_of_box(const InferContext& c) {
  if (!c.has_in("Y")) {
    if (c.running()) known_ints(c, kShape);
    return ints_of(c, kShape);
  }
  MaybeInts extents;
  for (const int64_t extent : c.in("Y").shape) {
    extents.push_back(extent < 0 ? std::nullopt : std::optional(extent));
  }
  return extents;
}

void infer_crop(InferContext& c) {
  const Shape& x = c.in("X").shape;
  if (c.running()) known_ints(c, kOffsets);
  const MaybeInts offsets = checked_offsets(ints_of(c, kOffsets), x), asked = extents_of_box(c);
  require(asked.size() == offsets.size(),
          "shape must hold an extent for each axis of X, which has shape {}, but holds {}", x,
          asked.size());
  Shape out = x;
  for (int64_t a = 0; a < x.rank(); ++a) {
    const std::optional<int64_t> offset = offsets[static_cast<size_t>(a)];
    std::optional<int64_t> extent = asked[static_cast<size_t>(a)];
    require(offset.value_or(0) >= 0, "offsets must not be negative, but along axis {} it is {}", a,
            offset.value_or(0));
    require(extent.value_or(1) > 0 || extent == -1,
            "an extent of a crop must be positive or -1, but along axis {} it is {}", a,
            extent.value_or(1));
    if (extent == -1) extent = x[a] < 0 || !offset ? std::nullopt : std::optional(x[a] - *offset);
    if (offset && extent && x[a] >= 0) check_within(x, a, *offset, *extent);
    out[a] = extent.value_or(-1);
  }
  c.out("Out") = VarMeta::tensor(c.dtype("X"), std::move(out));
}

Box box_of(const PrepareContext& c, const Shape& extents, const Shape& x) {
  require(extents.rank() == x.rank(), "a box of shape {} is no part of X, which has shape {}",
          extents, x);
  const Ints offsets = checked_offsets(known_ints(c, kOffsets), x);
  Box box{.extents = extents.dims(), .strides = dense_strides(x)};
  for (size_t a = 0; a < offsets.size(); ++a) {
    check_within(x, static_cast<int64_t>(a), offsets[a], box.extents[a]);
    box.first += offsets[a] * box.strides[a];
  }
  return box;
}

Step crop_forward(PrepareContext& c) {
  return take_box(c, "X", "Out", box_of(c, c.shape("Out"), c.shape("X")));
}

Step crop_backward(PrepareContext& c) {
  return put_box(c, "Out@GRAD", "X@GRAD", box_of(c, c.shape("Out@GRAD"), c.shape("X@GRAD")));
}

const OpDef& define_crop(const std::string& type, std::vector<Slot> inputs, std::vector<Use> uses) {
  const std::vector<int32_t> none;
  inputs.insert(inputs.begin(), {.name = "X", .doc = "tensor"});
  return define_op({.type = type,
                    .doc = "A box of X.",
                    .inputs = std::move(inputs),
                    .outputs = {{.name = "Out", .doc = "the elements inside the box"}},
                    .attrs = {{"offsets", none, "where the box begins along each axis"},
                              {"shape", none, "its extents; -1: what is left"}},
                    .infer = infer_crop,
                    .grad = grad_op(std::move(uses), {.kernels = every_dtype(crop_backward),
                                                      .infer = infer_moved_grad<kOffsets>}),
                    .kernels = every_dtype(crop_forward),
                    .dtype_slot = "X"});
}

const Slot kPattern = shape_giver("Y", "has the extents, instead of `shape`");
const OpDef& crop =
    define_crop("crop", with_slots_of({{.tensor = "Offsets", .attr = "offsets"}}, {kPattern}),
                {shape_of("X"), "Offsets"});
const OpDef& crop_tensor = define_crop("crop_tensor", with_slots_of({kShape, kOffsets}),
                                       {shape_of("X"), "Offsets", "OffsetsTensor"});

}  // namespace
}  // namespace flotilla::ops
