// pad_constant_like: Y in the first corner of a box with X's extents, a constant elsewhere.

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

void check_fits(const Shape& y, const Shape& x) {
  bool fits = x.rank() == y.rank();
  for (int64_t a = 0; fits && a < x.rank(); ++a) fits = x[a] < 0 || y[a] <= x[a];
  require(fits, "Y must fit into X, but they have the shapes {} and {}", y, x);
}

Box first_corner(const Shape& y, const Shape& whole) { return {y.dims(), dense_strides(whole)}; }

void infer_pad(InferContext& c) {
  check_fits(c.in("Y").shape, c.in("X").shape);
  c.out("Out") = VarMeta::tensor(c.dtype("Y"), c.in("X").shape);
}

constexpr auto pad_forward = []<typename T>(PrepareContext& c) -> Step {
  return put_box<T>(c, "Y", "Out", first_corner(c.shape("Y"), c.shape("Out")),
                    static_cast<T>(c.attr<float>("pad_value")));
};

void infer_pad_grad(InferContext& c) {
  check_fits(c.in("Y").shape, c.in("Out@GRAD").shape);
  c.out("Y@GRAD") = like(c.in("Y"));
}

Step pad_backward(PrepareContext& c) {
  return take_box(c, "Out@GRAD", "Y@GRAD", first_corner(c.shape("Y"), c.shape("Out@GRAD")));
}

const OpDef& pad_constant_like = define_op({
    .type = "pad_constant_like",
    .doc = "Y, padded at the end of each axis to the extents of X.",
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
