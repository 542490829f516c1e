// Operators where each axis of Out takes its indices from an axis of X (axis_map.h): pad, roll.

#pragma once

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/tensor/axis_map.h"

namespace flotilla::ops {

using AxisMaps = std::vector<AxisMap>;

// The maps of all axes, worked out.
class IndexMap {
 public:
  explicit IndexMap(const AxisMaps& axes) {
    Ints extents;
    for (const AxisMap& axis : axes) {
      extents.push_back(axis.from);
      Table& table = tables_.emplace_back();
      for (int64_t i = 0; i < axis.to; ++i) table.push_back(axis.of(i));
    }
    strides_ = dense_strides(Shape(std::move(extents)));
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
  using Table = Ints;  // table[i]: the index of X that index i of Out takes; -1: the constant

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

// The moves below on a GPU. A build with CUDA fills them in before main() (index_map.cu).
template <typename T>
struct GpuIndexMoves {
  Step (*take)(PrepareContext& c, std::string_view in, std::string_view out, const AxisMaps& axes,
               T constant) = nullptr;
  Step (*give_back)(PrepareContext& c, std::string_view in, std::string_view out,
                    const AxisMaps& axes) = nullptr;
};
template <typename T>
inline GpuIndexMoves<T> gpu_index_moves = {};

// Out from X.
template <typename T>
Step take_mapped(PrepareContext& c, std::string_view in, std::string_view out, const AxisMaps& axes,
                 T constant) {
  if (on_gpu(c)) return gpu_index_moves<T>.take(c, in, out, axes, constant);
  return [map = IndexMap(axes), constant, from = c.in<T>(in), to = c.out<T>(out)] {
    take(map, from.data(), to.data(), constant);
  };
}

// The gradient of X from that of Out.
template <typename T>
Step give_back_mapped(PrepareContext& c, std::string_view in, std::string_view out,
                      const AxisMaps& axes) {
  if (on_gpu(c)) return gpu_index_moves<T>.give_back(c, in, out, axes);
  return [map = IndexMap(axes), n = c.shape(out).numel(), from = c.in<T>(in), to = c.out<T>(out)] {
    give_back(map, from.data(), to.data(), n);
  };
}

}  // namespace flotilla::ops
