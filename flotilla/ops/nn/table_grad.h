// flotilla/ops/nn/table_grad.h
//
// The gradient of a table whose rows were looked up by Ids: with is_sparse, only those rows.

#pragma once

#include <utility>

#include "flotilla/op/infer.h"

namespace flotilla::ops {

inline void infer_table_grad(InferContext& c) {
  const VarMeta& table = c.in("W");
  VarMeta grad = VarMeta::tensor(table.dtype, table.shape);
  if (c.attr<bool>("is_sparse")) {
    grad.kind = VarKind::kSelectedRows;
    grad.rows = c.in("Ids").shape.numel();
  }
  c.out("W@GRAD") = std::move(grad);
}

}  // namespace flotilla::ops
