// Operators where each axis of Out takes its indices from an axis of X by a table:
//
//     pad3d, mode reflect, [1, 2]:  out 0 1 2 3 4 5  from  1 0 1 2 1 0
//     roll by 1:                    out 0 1 2        from  2 0 1

#pragma once

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {

// table[i]: the index of X that index i of Out takes; -1: the constant.
using Table = Ints;

class IndexMap {
 public:
  IndexMap(const Shape& x, std::vector<Table> tables)
      : strides_(dense_strides(x)), tables_(std::move(tables)) {
    for (const Table& table : tables_) rows_ *= static_cast<int64_t>(table.size());
    columns_ = tables_.empty() ? 1 : static_cast<int64_t>(tables_.back().size());
    rows_ = columns_ == 0 ? 0 : rows_ / columns_;
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Where row `row` of Out begins in X; -1: all of it is the constant.
  int64_t row_of(int64_t row) const {
    int64_t from = 0;
    for (size_t a = tables_.empty() ? 0 : tables_.size() - 1; a-- > 0;) {
      const int64_t extent = static_cast<int64_t>(tables_[a].size());
      const int64_t index = tables_[a][static_cast<size_t>(row % extent)];
      if (index < 0) return -1;
      from += index * strides_[a];
      row /= extent;
    }
    return from;
  }
  // The index within a row of X.
  int64_t column_of(int64_t column) const {
    return tables_.empty() ? 0 : tables_.back()[static_cast<size_t>(column)];
  }

 private:
  Ints strides_;
  std::vector<Table> tables_;
  int64_t rows_ = 1, columns_ = 1;
};

template <typename T>
void take(const IndexMap& map, const T* x, T* out, T constant) {
  parallel_for(map.rows(), map.columns() * 2, [&](int64_t row) {
    const int64_t from = map.row_of(row);
    T* to = out + row * map.columns();
    for (int64_t i = 0; i < map.columns(); ++i) {
      const int64_t column = map.column_of(i);
      to[i] = from < 0 || column < 0 ? constant : x[from + column];
    }
  });
}

// Elements of X that were taken several times get several gradients: one thread adds them.
template <typename T>
void give_back(const IndexMap& map, const T* dout, T* dx, int64_t n) {
  zero_bytes(dx, n * static_cast<int64_t>(sizeof(T)));
  for (int64_t row = 0; row < map.rows(); ++row) {
    const int64_t to = map.row_of(row);
    if (to < 0) continue;
    for (int64_t i = 0; i < map.columns(); ++i) {
      const int64_t column = map.column_of(i);
      if (column >= 0) dx[to + column] += dout[row * map.columns() + i];
    }
  }
}

}  // namespace flotilla::ops
