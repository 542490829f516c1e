// flip, reverse: some axes of X run backwards.

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

template <typename Context>
Ints backwards(const Context& c, const Shape& x) {
  Ints axes = c.template attr<Ints>("axis");
  const Ints dims = c.op().type() == "flip" ? c.template attr<Ints>("dims") : Ints();
  axes.insert(axes.end(), dims.begin(), dims.end());
  for (int64_t& axis : axes) axis = x.axis(axis);
  return axes;
}

void infer_flip(InferContext& c) {
  backwards(c, c.in("X").shape);
  c.out("Out") = like(c.in("X"));
}

Step flip_forward(PrepareContext& c) {
  const Shape& x = c.shape("X");
  Box box{x.dims(), dense_strides(x)};
  for (const int64_t axis : backwards(c, x)) {
    int64_t& stride = box.strides[static_cast<size_t>(axis)];
    box.first += (x[axis] - 1) * stride;
    stride = -stride;
  }
  return take_box(c, "X", "Out", box);
}

void flip_grad(GradContext& g) {
  Attrs attrs;
  for (const std::string_view name : {"axis", "dims"}) {
    if (const Attr* attr = g.op().find_attr(name)) attrs.emplace(name, *attr);
  }
  hand_back(g, g.op().type(), std::move(attrs));
}

const OpDef& define_flip(const std::string& type, std::vector<AttrSpec> attrs) {
  return define_op({.type = type,
                    .doc = "X with some axes in reverse order.",
                    .inputs = {{.name = "X", .doc = "tensor"}},
                    .outputs = {{.name = "Out", .doc = "same shape as X"}},
                    .attrs = std::move(attrs),
                    .infer = infer_flip,
                    .grad = custom_grad(flip_grad),
                    .kernels = every_dtype(flip_forward)});
}

const std::vector<int32_t> kNone;
const OpDef& flip = define_flip(
    "flip", {{"axis", kNone, "the axes to reverse"}, {"dims", kNone, "of 1.8: the same"}});
const OpDef& reverse = define_flip("reverse", {{"axis", kNone, "the axes to reverse"}});

}  // namespace
}  // namespace flotilla::ops
