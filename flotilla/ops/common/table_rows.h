// flotilla/ops/common/table_rows.h
//
// Reading rows of a table by their numbers: lookup_table, and what it is fused into.

#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ps/worker.h"

namespace flotilla::ops {

// Rows are short: calling memcpy would cost as much as the copy.
template <typename T>
FLT_INLINE void copy_row(const T* from, int64_t n, T* to) {
  constexpr int64_t kStep = 16 / static_cast<int64_t>(sizeof(T));
  if (n < kStep) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i + kStep <= n; i += kStep) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + n - kStep, from + n - kStep, 16);
}

// padding_idx as a row number, -1 where there is none: it may be counted from the end.
inline int64_t padding_row(int64_t padding_idx, int64_t height) {
  return padding_idx < -1 ? padding_idx + height : padding_idx;
}

// The table in slot W.
template <typename T>
class TableRows {
 public:
  explicit TableRows(PrepareContext& c, size_t i = 0)
      : height(c.shape("W", i)[0]),
        width(c.shape("W", i)[1]),
        table_(c.in<T>("W", i)),
        name_(c.op().input_list("W")[i]) {
    require(
        height > 0 || c.around().servers == nullptr,
        "the rows of \"{}\" are on parameter servers, but this program looks for them here: clone "
        "it after minimize(), or use fleet.utils.ps_util.DistributedInfer",
        name_);
    geo_ = c.around().servers != nullptr && c.around().servers->options().mode == ps::Mode::kGeo;
  }

  // Where the rows lie, for a GPU.
  const T* data() const { return table_.data(); }

  // Rows lie far apart: the cache is told early which ones will be wanted. A short row may lie in
  // two of its lines.
  FLT_INLINE void prefetch(int64_t id) const {
    if (id < 0 || id >= height) return;
    const T* row = table_.data() + id * width;
    __builtin_prefetch(row);
    __builtin_prefetch(row + width - 1);
  }

  // Row `id`, zeros for `padding`; refuses an id without a row, which stands at `position` in Ids.
  FLT_INLINE void copy(int64_t id, int64_t padding, int64_t position, T* to) const {
    if (id == padding && padding != -1) {
      std::fill_n(to, width, T{0});
      return;
    }
    if (id < 0 || id >= height) refuse_id(id, position);
    copy_row(table_.data() + id * width, width, to);
  }

  const int64_t height, width;

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_id(int64_t id, int64_t position) const {
    refuse("id {} at position {} is not a row of the table \"{}\", which has the rows 0 to {}{}",
           id, position, name_, height - 1,
           geo_ ? ": in Geo mode every worker keeps the whole table. Give it as many rows as there "
                  "are ids, feed ids modulo its rows, or leave rows to the servers, with a_sync "
                  "and k_steps = 0"
                : "");
  }

  In<T> table_;
  std::string name_;
  bool geo_ = false;
};

// The gradient of a table whose rows were looked up by Ids: with is_sparse, only those rows.
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
