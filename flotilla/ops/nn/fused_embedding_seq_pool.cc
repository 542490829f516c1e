// flotilla/ops/nn/fused_embedding_seq_pool.cc
//
// fused_embedding_seq_pool: for each sequence of rows of ids, the sum of the rows of W that a
// column of them names, column beside column. An id equal to padding_idx adds nothing.
//
// The gradient of W is dense, or with is_sparse one row for each id. An id of padding gives none.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/table_rows.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Ids");
  check_sequences(c, "Ids");
  const VarMeta &ids = c.in("Ids"), &table = c.in("W");
  require(table.shape.rank() == 2, "W must have rank 2, but has shape {}", table.shape);
  const std::string combiner = c.attr<std::string>("combiner");
  require(combiner == "sum", "combiner must be \"sum\", but is \"{}\"", combiner);
  const int64_t columns = ids.shape.numel(1, ids.shape.rank());
  c.out("Out") = VarMeta::tensor(table.dtype,
                                 Shape{ids.sequences, columns < 0 ? -1 : columns * table.shape[1]});
}

void lower(LowerContext& c) {
  const std::string found = c.append(
      "lookup_table_v2", {{"Ids", {c.in("Ids")}}, {"W", {c.in("W")}}},
      {{"padding_idx", c.attr<int64_t>("padding_idx")}, {"is_sparse", c.attr<bool>("is_sparse")}});
  const std::string rows = c.flatten(found, 1, -1);
  c.result("Out", c.apply("sequence_pool", rows, {{"pooltype", "SUM"}}));
}

const OpDef& fused_embedding_seq_pool = define_op({
    .type = "fused_embedding_seq_pool",
    .doc = "Looks up rows of a table, and adds up those of a sequence.",
    .inputs = {{"W", "the table, [rows, width]"},
               {.name = "Ids", .doc = "rows of i64 or i32 with a LoD", .no_grad = true}},
    .outputs = {{"Out", "a row for each sequence"}},
    .attrs = {{"combiner", "sum", "what is made of the rows of a sequence"},
              {"is_sparse", false, "whether the gradient of W holds only the rows of Ids"},
              {"padding_idx", int64_t{-1}, "the id of padding, whose row is zeros; -1: none"},
              {"grad_inplace", false, "of no effect"}},
    .infer = infer,
    .grad = body_gradient({"W", "Ids"}, {.infer = infer_table_grad}),
    .lower = lower,
    .dtype_slot = "W",
});

}  // namespace
}  // namespace flotilla::ops
