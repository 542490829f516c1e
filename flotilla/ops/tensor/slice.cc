// flotilla/ops/tensor/slice.cc
//
// slice and strided_slice: the elements start, start + stride, ... of some axes, up to and without
// end. As in Python, a negative start or end counts from the end of the axis, and what lies outside
// is cut off.

#include <algorithm>

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/tensor/slice_range.h"

namespace flotilla::ops {
namespace {

const IntSource kStarts = {"StartsTensor", "StartsTensorList", "starts"};
const IntSource kEnds = {"EndsTensor", "EndsTensorList", "ends"};
const IntSource kStrides = {"StridesTensor", "StridesTensorList", "strides"};

template <typename Context>
bool strided(const Context& c) {
  return c.op().type().starts_with("strided");
}

template <typename Context>
Ints strides_of(const Context& c, size_t axes) {
  if (!strided(c)) return Ints(axes, 1);
  Ints strides;
  for (const std::optional<int64_t>& stride : ints_of(c, kStrides)) {
    strides.push_back(stride.value_or(1));
  }
  return strides;
}

// Drops the axes that an integer index removes. What has no axis left keeps one of extent 1.
Shape decreased(const Shape& shape, const Ints& drop) {
  Ints dims;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    const bool gone = std::find(drop.begin(), drop.end(), a) != drop.end();
    require(!gone || shape[a] == 1 || shape[a] == -1,
            "decrease_axis drops axis {} of a slice of shape {}, which is not 1", a, shape);
    if (!gone) dims.push_back(shape[a]);
  }
  if (dims.empty() && !drop.empty()) dims.push_back(1);
  return Shape(std::move(dims));
}

void remember_slice(VarMeta& out, const VarMeta& in, const Range& range) {
  if (range.count < 0 || !in.value || in.shape.rank() != 1) return;
  Ints taken;
  for (int64_t i = 0; i < range.count; ++i) {
    taken.push_back(in.value->at(static_cast<size_t>(range.first + i * range.stride)));
  }
  remember(out, std::move(taken));
}

// Where the slice starts; while a program is built, 0 in the attribute is a number among variables,
// too, for which it has -1.
MaybeInts starts_of(const InferContext& c) {
  MaybeInts starts = ints_of(c, kStarts);
  if (c.running() || c.in_count(kStarts.list) == 0) return starts;
  const Ints given = c.attr<Ints>(kStarts.attr);
  for (size_t i = 0; i < starts.size() && given.size() == starts.size(); ++i) {
    if (!starts[i] && given[i] == 0) starts[i] = 0;
  }
  return starts;
}

void infer(InferContext& c) {
  const VarMeta& in = c.in("Input");
  const Ints axes = c.attr<Ints>("axes");
  const MaybeInts starts = starts_of(c), ends = ints_of(c, kEnds);
  const Ints strides = strides_of(c, axes.size());
  require(
      starts.size() == axes.size() && ends.size() == axes.size() && strides.size() == axes.size(),
      "{} of {} axes needs as many starts, ends and strides, but has {}, {} and {}", c.op().type(),
      axes.size(), starts.size(), ends.size(), strides.size());
  if (c.running()) {
    known_ints(c, kStarts);
    known_ints(c, kEnds);
    if (strided(c)) known_ints(c, kStrides);
  }
  Shape shape = in.shape;
  Range range;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = in.shape.axis(axes[i]);
    for (size_t before = 0; before < i; ++before) {
      require(in.shape.axis(axes[before]) != axis,
              "axes of {} must be different, but {} comes twice", c.op().type(), axis);
    }
    range = {};
    if (starts[i] && ends[i] && in.shape[axis] >= 0) {
      range = range_of(in.shape[axis], *starts[i], *ends[i], strides[i]);
    }
    shape[axis] = range.count;
  }
  VarMeta out = VarMeta::tensor(in.dtype, decreased(shape, c.attr<Ints>("decrease_axis")));
  remember_slice(out, in, range);
  c.out("Out") = std::move(out);
}

// Where the slice lies in a tensor of `shape`.
Box box_of(const PrepareContext& c, const Shape& shape) {
  const Ints axes = c.attr<Ints>("axes");
  return sliced(shape, axes, known_ints(c, kStarts), known_ints(c, kEnds),
                strided(c) ? known_ints(c, kStrides) : Ints(axes.size(), 1));
}

Step forward(PrepareContext& c) { return take_box(c, "Input", "Out", box_of(c, c.shape("Input"))); }
Step backward(PrepareContext& c) {
  return put_box(c, "Out@GRAD", "Input@GRAD", box_of(c, c.shape("Input@GRAD")));
}

template <const IntSource&... kNumbers>
const OpDef& define(const std::string& type, const std::string& doc, std::vector<AttrSpec> attrs) {
  const std::vector<Slot> inputs =
      with_slots_of({kNumbers...}, {{.name = "Input", .doc = "tensor"}});
  const std::vector<int32_t> none;
  attrs.insert(attrs.begin(), {{"axes", none, "the axes that are cut"},
                               {"starts", none, "first element along each of them"},
                               {"ends", none, "element along each of them to stop before"}});
  attrs.push_back({"infer_flags", none, "-1 where a start or end comes from a tensor"});
  attrs.push_back({"decrease_axis", none, "axes of extent 1 to drop from the result"});
  return define_op({
      .type = type,
      .doc = doc,
      .inputs = inputs,
      .outputs = {{.name = "Out", .doc = "the elements inside the ranges"}},
      .attrs = std::move(attrs),
      .infer = infer,
      .grad = grad_op(shape_and_others(inputs),
                      {.kernels = every_dtype(backward), .infer = infer_moved_grad<kNumbers...>}),
      .kernels = every_dtype(forward),
      .dtype_slot = "Input",
  });
}

const OpDef& slice = define<kStarts, kEnds>("slice", "Cuts ranges out of some axes.", {});
const OpDef& strided_slice = define<kStarts, kEnds, kStrides>(
    "strided_slice", "Cuts ranges with a step out of some axes.",
    {{"strides", std::vector<int32_t>{}, "step along each of them"}});

}  // namespace
}  // namespace flotilla::ops
