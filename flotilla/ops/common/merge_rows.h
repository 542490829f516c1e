// flotilla/ops/common/merge_rows.h
//
// Adding up sparse rows that repeat, in a tensor of the same size.

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/kernel/prepare.h"
#include "flotilla/update/rows.h"

namespace flotilla::ops {

// Writes the sums to the first rows of `out` and returns how many there are; behind them stand rows
// of zeros with the number of the last sum, which add nothing wherever rows add up.
// REQUIRES: `order` has room for x.count
template <typename T>
int64_t merge_rows(const SparseIn<T>& x, const SparseOut<T>& out, int64_t* order) {
  const size_t count = static_cast<size_t>(x.count), width = static_cast<size_t>(x.width);
  if (count == 0) return 0;
  int64_t* rows = out.rows.data();
  T* values = out.value.data();
  const auto sums = static_cast<size_t>(
      update::merge_rows({x.rows.data(), count}, {x.value.data(), count * width}, x.width,
                         {rows, count}, {values, count * width}, {order, count}));
  std::fill(rows + sums, rows + count, rows[sums - 1]);
  std::fill(values + sums * width, values + count * width, T{0});
  return static_cast<int64_t>(sums);
}

}  // namespace flotilla::ops
