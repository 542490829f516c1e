// flotilla/ops/tensor/scatter.cc
//
// scatter: rows of X are replaced; of several rows for one place the last one stays, or without
// `overwrite` their sum. scatter_nd_add: rows are added, where entries of Index name the first
// axes.

#include "flotilla/ops/tensor/put_rows.h"

namespace flotilla::ops {
namespace {

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kUpdates = {.name = "Updates", .doc = "the rows to put"};
const Slot kOut = {.name = "Out", .doc = "same shape as X", .like = "X"};

// ---- scatter ------------------------------------------------------------------------------------

void infer_scatter(InferContext& c) {
  check_labels(c, "Ids");
  const Shape &x = c.in("X").shape, &updates = c.in("Updates").shape, &ids = c.in("Ids").shape;
  require(x.rank() > 0, "scatter needs an X with at least one axis");
  require(ids.numel() < 0 || updates.rank() == 0 || updates[0] < 0 || ids.numel() == updates[0],
          "Updates must hold a row for each of the {} Ids, but has shape {}", ids.numel(), updates);
  require(!ids.known() || !updates.known() || !x.known() ||
              updates.numel() == checked_product(ids.numel(), x.numel(1, x.rank())),
          "the rows of Updates must be as wide as those of X, but they have the shapes {} and {}",
          updates, x);
  c.out("Out") = like(c.in("X"));
}

constexpr auto scatter_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "Updates", "Out", RowsAlongAxis(c, "Ids", c.shape("X"), 0),
                c.attr<bool>("overwrite") ? Put::kReplace : Put::kReplaceBySum);
};

constexpr auto scatter_backward = []<typename T>(PrepareContext& c) -> Step {
  return put_backward<T>(c, "Out@GRAD", "X@GRAD", "Updates@GRAD",
                         RowsAlongAxis(c, "Ids", c.shape("Out@GRAD"), 0), Put::kReplace);
};

const OpDef& scatter = define_op({
    .type = "scatter",
    .doc = "X with the rows of the numbers in Ids replaced.",
    .inputs = {kX, numbers_slot("Ids"), kUpdates},
    .outputs = {kOut},
    .attrs = {{"overwrite", true, "rows replace those of X; otherwise they add up"}},
    .infer = infer_scatter,
    .grad = grad_op({"Ids", shape_of("Updates")},
                    {.kernels = kernels_for<float, double, int32_t, int64_t>(scatter_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(scatter_forward),
    .dtype_slot = "X",
});

// ---- scatter_nd_add -----------------------------------------------------------------------------

void infer_scatter_nd_add(InferContext& c) {
  check_labels(c, "Index");
  const Shape& updates = c.in("Updates").shape;
  const Shape named = shape_by_entry(c.in("X").shape, c.in("Index").shape);
  require(updates.numel() == named.numel() || !named.known() || !updates.known(),
          "Updates must have shape {}, but has {}", named, updates);
  c.out("Out") = like(c.in("X"));
}

constexpr auto scatter_nd_add_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "Updates", "Out", RowsByEntry(c, "Index", c.shape("X")), Put::kAdd);
};

Step scatter_nd_add_backward(PrepareContext& c) {
  return put_backward<float>(c, "Out@GRAD", "X@GRAD", "Updates@GRAD",
                             RowsByEntry(c, "Index", c.shape("Out@GRAD")), Put::kAdd);
}

const OpDef& scatter_nd_add = define_op({
    .type = "scatter_nd_add",
    .doc = "X with rows added where the entries of Index say.",
    .inputs = {kX, numbers_slot("Index"), kUpdates},
    .outputs = {kOut},
    .infer = infer_scatter_nd_add,
    .grad =
        grad_op({"Index", shape_of("Updates")}, {.kernels = every_dtype(scatter_nd_add_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(scatter_nd_add_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
