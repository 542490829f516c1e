// flotilla/ops/tensor/crop.cc
//
// Boxes inside tensors:
//
//   crop, crop_tensor   the box of X of some extents, `offsets` behind its first element; an extent
//                       of -1 takes what is left of an axis
//   pad_constant_like   Y in the first corner of a box with X's extents, a constant elsewhere

#include <algorithm>

#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

const IntSource kOffsets = {"Offsets", "OffsetsTensor", "offsets"};
const IntSource kShape = {"Shape", "ShapeTensor", "shape"};

// A box that begins `first` elements into a tensor.
struct Box {
  Shape extents = {};
  Shape whole = {};
  int64_t first = 0;
};

// out = the box of `in`
Step take(PrepareContext& c, std::string_view in, std::string_view out, const Box& box) {
  const int64_t size = size_of(c.dtype(in));
  const BoxCopy copy(box.extents.dims(), dense_strides(box.extents), dense_strides(box.whole),
                     size);
  return [copy, empty = box.extents.numel() == 0, offset = box.first * size, from = c.in_bytes(in),
          to = c.out_bytes(out)] {
    if (!empty) copy.run(to.data(), from.data() + offset);
  };
}

// The box of `out` = in, and `rest` elsewhere.
template <typename T>
Step put(PrepareContext& c, std::string_view in, std::string_view out, const Box& box, T rest) {
  const BoxCopy copy(box.extents.dims(), dense_strides(box.whole), dense_strides(box.extents),
                     sizeof(T));
  return [copy, rest, n = box.whole.numel(), empty = box.extents.numel() == 0, first = box.first,
          from = c.in<T>(in), to = c.out<T>(out)] {
    std::fill_n(to.data(), n, rest);
    if (empty) return;
    copy.run(reinterpret_cast<char*>(to.data() + first),
             reinterpret_cast<const char*>(from.data()));
  };
}

// ---- crop, crop_tensor --------------------------------------------------------------------------

void check_within(const Shape& x, int64_t axis, int64_t offset, int64_t extent) {
  require(offset >= 0 && extent >= 0 && extent <= x[axis] - offset,
          "{} elements from {} on are no part of axis {} of X, which has shape {}", extent, offset,
          axis, x);
}

// One for each axis of X; zeros where the op names none.
MaybeInts checked_offsets(MaybeInts offsets, const Shape& x) {
  const size_t rank = x.dims().size();
  if (offsets.empty()) offsets.assign(rank, 0);
  require(offsets.size() == rank,
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
  const Ints strides = dense_strides(x), known = known_ints(c, kOffsets);
  const MaybeInts offsets = checked_offsets(MaybeInts(known.begin(), known.end()), x);
  require(extents.rank() == x.rank(), "a box of shape {} is no part of X, which has shape {}",
          extents, x);
  Box box{.extents = extents, .whole = x};
  for (int64_t a = 0; a < x.rank(); ++a) {
    const int64_t offset = *offsets[static_cast<size_t>(a)];
    check_within(x, a, offset, extents[a]);
    box.first += offset * strides[static_cast<size_t>(a)];
  }
  return box;
}

Step crop_forward(PrepareContext& c) {
  return take(c, "X", "Out", box_of(c, c.shape("Out"), c.shape("X")));
}

void infer_crop_grad(InferContext& c) {
  if (c.running()) known_ints(c, kOffsets);
  c.out("X@GRAD") = like(c.in("X"));
}

constexpr auto crop_backward = []<typename T>(PrepareContext& c) -> Step {
  const Box box = box_of(c, c.shape("Out@GRAD"), c.shape("X@GRAD"));
  return put<T>(c, "Out@GRAD", "X@GRAD", box, T{0});
};

Slot numbers_slot(std::string_view name, std::string doc, bool list) {
  return {.name = std::string(name),
          .doc = std::move(doc),
          .optional = true,
          .list = list,
          .no_grad = true};
}

void define_crop(const std::string& type, std::vector<Slot> numbers, std::vector<Use> uses) {
  const std::vector<int32_t> none;
  numbers.insert(numbers.begin(), {.name = "X", .doc = "tensor"});
  define_op({.type = type,
             .doc = "A box of X.",
             .inputs = std::move(numbers),
             .outputs = {{.name = "Out", .doc = "the elements inside the box"}},
             .attrs = {{"offsets", none, "where the box begins along each axis"},
                       {"shape", none, "its extents; -1: what is left"}},
             .infer = infer_crop,
             .grad = grad_op(std::move(uses), {.kernels = kernels_for<float, double>(crop_backward),
                                               .infer = infer_crop_grad}),
             .kernels = every_dtype(crop_forward),
             .dtype_slot = "X"});
}

const bool kDefined = [] {
  const Slot offsets = numbers_slot(kOffsets.tensor, "instead of `offsets`", false);
  Slot pattern = numbers_slot("Y", "has the extents, instead of `shape`", false);
  pattern.shape_only = true;
  define_crop("crop", {pattern, offsets}, {shape_of("X"), "Offsets"});
  define_crop("crop_tensor",
              {numbers_slot(kShape.tensor, "instead of `shape`", false),
               numbers_slot(kShape.list, "one tensor for each extent", true), offsets,
               numbers_slot(kOffsets.list, "one tensor for each axis", true)},
              {shape_of("X"), "Offsets", "OffsetsTensor"});
  return true;
}();

// ---- pad_constant_like --------------------------------------------------------------------------

void check_fits(const Shape& y, const Shape& x) {
  bool fits = x.rank() == y.rank();
  for (int64_t a = 0; fits && a < x.rank(); ++a) fits = x[a] < 0 || y[a] <= x[a];
  require(fits, "Y must fit into X, but they have the shapes {} and {}", y, x);
}

void infer_pad(InferContext& c) {
  check_fits(c.in("Y").shape, c.in("X").shape);
  c.out("Out") = VarMeta::tensor(c.dtype("Y"), c.in("X").shape);
}

constexpr auto pad_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "Y", "Out", {.extents = c.shape("Y"), .whole = c.shape("Out")},
                static_cast<T>(c.attr<float>("pad_value")));
};

void infer_pad_grad(InferContext& c) {
  check_fits(c.in("Y").shape, c.in("Out@GRAD").shape);
  c.out("Y@GRAD") = like(c.in("Y"));
}

Step pad_backward(PrepareContext& c) {
  return take(c, "Out@GRAD", "Y@GRAD", {.extents = c.shape("Y"), .whole = c.shape("Out@GRAD")});
}

const OpDef& pad_constant_like = define_op({
    .type = "pad_constant_like",
    .doc = "Y, and a constant behind it up to the extents of X.",
    .inputs = {{.name = "X", .doc = "has the extents", .no_grad = true, .shape_only = true},
               {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of X's extents"}},
    .attrs = {{"pad_value", 0.0f, "the constant"}},
    .infer = infer_pad,
    .grad =
        grad_op({shape_of("Y")}, {.kernels = every_dtype(pad_backward), .infer = infer_pad_grad}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(pad_forward),
    .dtype_slot = "Y",
});

}  // namespace
}  // namespace flotilla::ops
