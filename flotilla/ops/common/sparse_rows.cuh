// flotilla/ops/common/sparse_rows.cuh
//
// What operators do with sparse rows on a GPU: copy their numbers, and add up rows that repeat, in
// the order in which they came.

#pragma once

#include <cstdint>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/row_order.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

template <typename T>
void copy_elements(Stream stream, T* to, const T* from, int64_t n) {
  if (n > 0 && to != from) cuda::copy(to, from, n * static_cast<int64_t>(sizeof(T)), stream);
}

// Sorted rows as a kernel sees them: those of one number stand together and form a run.
struct RowRuns {
  const uint64_t* sorted = nullptr;
  int64_t count = 0, width = 0, height = 0;
  int position_bits = 0;

  // `height` and more: no row.
  __device__ int64_t row(int64_t p) const {
    return static_cast<int64_t>(sorted[p] >> position_bits);
  }
  __device__ bool begins(int64_t p) const { return p == 0 || row(p - 1) != row(p); }
  // `sum` and a column of the run that begins at p.
  template <typename T>
  __device__ Compute<T> add_run(int64_t p, int64_t column, const T* values, Compute<T> sum) const {
    const uint64_t mask = (uint64_t{1} << position_bits) - 1;
    const int64_t same = row(p);
    for (; p < count && row(p) == same; ++p) {
      sum += widen(values[static_cast<int64_t>(sorted[p] & mask) * width + column]);
    }
    return sum;
  }
};

template <typename T>
class SortedRows {
 public:
  SortedRows(PrepareContext& c, const SparseIn<T>& rows)
      : rows_(rows),
        order_(cuda::RowOrder::of(rows.count, rows.height)),
        keys_(c.workspace<uint64_t>(rows.count)),
        sorted_(c.workspace<uint64_t>(rows.count)),
        work_(c.workspace<char>(order_.workspace_bytes())) {}

  const SparseIn<T>& rows() const { return rows_; }
  // Elements, for each of which a thread has work.
  int64_t numel() const { return rows_.count * rows_.width; }
  // Called once in each run, where there are rows.
  RowRuns sort(Stream stream) const {
    order_.sort(stream, rows_.rows.data(), keys_.data(), sorted_.data(), work_.data());
    return {sorted_.data(), rows_.count, rows_.width, rows_.height, order_.position_bits};
  }

 private:
  SparseIn<T> rows_;
  cuda::RowOrder order_;
  Out<uint64_t> keys_, sorted_;
  Out<char> work_;
};

}  // namespace flotilla::ops
