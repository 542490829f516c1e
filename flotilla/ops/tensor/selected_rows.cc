// flotilla/ops/tensor/selected_rows.cc
//
// Sparse rows by themselves: adding up those that repeat, and taking their values as a tensor.
//
// The number of rows does not change when they are merged (merge_rows.h), so the size of every
// tensor is known when a plan is made.

#include "flotilla/ops/common/merge_rows.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

void require_sparse(const InferContext& c) {
  require(c.in("X").kind == VarKind::kSelectedRows,
          "{} takes sparse rows, but X is a {} of shape {}", c.op().type(), name_of(c.in("X").kind),
          c.in("X").shape);
}

void infer_merge(InferContext& c) {
  require_sparse(c);
  c.out("Out") = c.in("X");
}

constexpr auto merge = []<typename T>(PrepareContext& c) -> Step {
  const SparseIn<T> x = c.sparse_in<T>("X");
  return [x, out = c.sparse_out<T>("Out"), order = c.workspace<int64_t>(x.count)] {
    merge_rows(x, out, order.data());
  };
};

void infer_values(InferContext& c) {
  require_sparse(c);
  const VarMeta& x = c.in("X");
  Shape shape = x.shape;
  shape[0] = x.rows;
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(shape));
}

constexpr auto values = []<typename T>(PrepareContext& c) -> Step {
  return [x = c.sparse_in<T>("X"), out = c.out<T>("Out")] {
    copy_bytes(out.data(), x.value.data(), x.count * x.width * static_cast<int64_t>(sizeof(T)));
  };
};

const OpDef& merge_selected_rows = define_op({
    .type = "merge_selected_rows",
    .doc = "Adds up the rows that have the same number.",
    .inputs = {{.name = "X", .doc = "sparse rows"}},
    .outputs = {{.name = "Out", .doc = "sparse rows; none but rows of zeros repeat"}},
    .infer = infer_merge,
    .kernels = kernels_for<float, double>(merge),
});

const OpDef& get_tensor_from_selected_rows = define_op({
    .type = "get_tensor_from_selected_rows",
    .doc = "The values of sparse rows, without their numbers.",
    .inputs = {{.name = "X", .doc = "sparse rows"}},
    .outputs = {{.name = "Out", .doc = "one row for each of X"}},
    .infer = infer_values,
    .kernels = kernels_for<float, double>(values),
});

}  // namespace
}  // namespace flotilla::ops
