// index_add: X with rows added at the numbers in Index, along an axis.

#include "flotilla/ops/tensor/put_rows.h"

namespace flotilla::ops {
namespace {

void infer_index_add(InferContext& c) {
  check_labels(c, "Index");
  const Shape &x = c.in("X").shape, &index = c.in("Index").shape, &added = c.in("AddValue").shape;
  require(index.rank() == 1, "Index of index_add must be a vector, but has shape {}", index);
  Shape rows = x;
  rows[x.axis(c.attr<int64_t>("axis"))] = index[0];
  require(fits(added, rows), "AddValue must have shape {}, but has {}", rows, added);
  c.out("Out") = like(c.in("X"));
}

RowsAlongAxis added_rows(PrepareContext& c, const Shape& whole) {
  return RowsAlongAxis(c, "Index", whole, whole.axis(c.attr<int64_t>("axis")));
}

constexpr auto index_add_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "AddValue", "Out", added_rows(c, c.shape("X")), Put::kAdd);
};

Step index_add_backward(PrepareContext& c) {
  return put_backward<float>(c, "Out@GRAD", "X@GRAD", "AddValue@GRAD",
                             added_rows(c, c.shape("Out@GRAD")), Put::kAdd);
}

const OpDef& index_add = define_op({
    .type = "index_add",
    .doc = "X with rows added at the numbers in Index.",
    .inputs = {{.name = "X", .doc = "tensor"},
               numbers_slot("Index"),
               {.name = "AddValue", .doc = "a row for each number"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"axis", 0, "the axis whose rows are meant"}},
    .infer = infer_index_add,
    .grad = grad_op({"Index", shape_of("AddValue")}, {.kernels = every_dtype(index_add_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(index_add_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
