// gather_nd: the rows of X whose first axes the entries of Index name; negative numbers count from
// the end, as in x[i, j] of numpy.

#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

void infer_gather_nd(InferContext& c) {
  check_labels(c, "Index");
  c.out("Out") =
      VarMeta::tensor(c.dtype("X"), shape_by_entry(c.in("X").shape, c.in("Index").shape));
}

Step gather_nd_forward(PrepareContext& c) {
  return take_rows(c, "X", "Out", RowsByEntry(c, "Index", c.shape("X"), true));
}

constexpr auto gather_nd_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Out@GRAD", "X@GRAD", RowsByEntry(c, "Index", c.shape("X@GRAD"), true));
};

const OpDef& gather_nd = define_op({
    .type = "gather_nd",
    .doc = "The rows of X whose first axes the entries of Index name.",
    .inputs = {{.name = "X", .doc = "tensor"},
               {.name = "Index", .doc = "int32 or int64", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "one row for each entry"}},
    .infer = infer_gather_nd,
    .grad = grad_op({shape_of("X"), "Index"},
                    {.kernels = kernels_for<float, double, int32_t, int64_t>(gather_nd_backward)}),
    .kernels = every_dtype(gather_nd_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
