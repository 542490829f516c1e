// take_along_axis: Result[i, j, k] = Input[i, Index[i, j, k], k], where Axis is 1; index_sample:
// the same of the rows of a matrix.

#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kIndex = {.name = "Index", .doc = "int32 or int64", .no_grad = true};

void infer_along(InferContext& c) {
  check_named_elements(c);
  c.out("Result") = VarMeta::tensor(c.dtype("Input"), c.in("Index").shape);
}

void infer_sample(InferContext& c) {
  check_labels(c, "Index");
  const Shape &x = c.in("X").shape, &index = c.in("Index").shape;
  require(x.rank() == 2 && index.rank() == 2 && (x[0] == index[0] || x[0] == -1 || index[0] == -1),
          "X and Index must be matrices with as many rows, but have shapes {} and {}", x, index);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), index);
}

NamedElements elements_of(PrepareContext& c, std::string_view whole) {
  const bool samples = c.op().type().starts_with("index_sample");
  const int64_t axis = samples ? 1 : c.attr<int64_t>("Axis");
  return NamedElements(c, "Index", c.shape(whole), axis, !samples);
}

constexpr auto take_along = []<typename T>(PrepareContext& c) -> Step {
  return take_rows(c, "Input", "Result", elements_of(c, "Input"));
};
constexpr auto along_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Result@GRAD", "Input@GRAD", elements_of(c, "Input@GRAD"));
};
constexpr auto sample = []<typename T>(PrepareContext& c) -> Step {
  return take_rows(c, "X", "Out", elements_of(c, "X"));
};
constexpr auto sample_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Out@GRAD", "X@GRAD", elements_of(c, "X@GRAD"));
};

const OpDef& take_along_axis = define_op({
    .type = "take_along_axis",
    .doc = "The elements of Input that Index names along an axis.",
    .inputs = {{.name = "Input", .doc = "tensor"}, kIndex},
    .outputs = {{.name = "Result", .doc = "the shape of Index"}},
    .attrs = {{"Axis", 0, "the axis that Index counts along; negative numbers from its end"}},
    .infer = infer_along,
    .grad = float_grad({shape_of("Input"), "Index"}, along_backward),
    .kernels = kernels_for_all(take_along),
    .dtype_slot = "Input",
});

const OpDef& index_sample = define_op({
    .type = "index_sample",
    .doc = "From each row of X the elements with the numbers in the same row of Index.",
    .inputs = {kX, kIndex},
    .outputs = {{.name = "Out", .doc = "same shape as Index"}},
    .infer = infer_sample,
    .grad = float_grad({shape_of("X"), "Index"}, sample_backward),
    .kernels = kernels_for<float, double, int32_t, int64_t>(sample),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
