// flotilla/ops/tensor/named_rows.h
//
// Rows of a tensor that whole numbers name: a row is `width` adjacent elements, and row i of a list
// belongs to row of(i) of the whole. There are three ways to name rows:
//
//   RowsAlongAxis   numbers[i % count] along one axis of the whole
//   RowsByEntry     the first axes of the whole, by the numbers of entry i
//   NamedElements   single elements, where one axis is by number and the others as in the list
//
// `groups` groups of `count` rows name different rows. Every number is checked while the op runs; a
// bad one is refused with its place.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/row_names.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {

inline int64_t checked_index(int64_t number, int64_t place, int64_t extent, int64_t least = 0) {
  require(least <= number && number < extent,
          "the index at place {} must lie in [{}, {}), but is {}", place, least, extent, number);
  return number;
}

struct RowsAlongAxis {
  LabelsIn numbers;
  int64_t groups, count, width, extent;

  RowsAlongAxis(PrepareContext& c, std::string_view slot, const Shape& whole, int64_t axis)
      : numbers(c, slot),
        groups(whole.numel(0, axis)),
        count(c.shape(slot).numel()),
        width(whole.numel(axis + 1, whole.rank())),
        extent(whole[axis]) {}
  int64_t of(int64_t i) const {
    return i / count * extent + checked_index(numbers[i % count], i % count, extent);
  }
};

struct RowsByEntry {
  LabelsIn numbers;
  Ints extents;  // of the named axes
  int64_t groups = 1, count, width;
  bool from_end;  // negative numbers count from the end

  RowsByEntry(PrepareContext& c, std::string_view slot, const Shape& whole, bool from_end = false)
      : numbers(c, slot), from_end(from_end) {
    const Shape& index = c.shape(slot);
    const int64_t depth = index[index.rank() - 1];
    extents = Ints(whole.begin(), whole.begin() + depth);
    count = index.numel(0, index.rank() - 1);
    width = whole.numel(depth, whole.rank());
  }
  int64_t of(int64_t i) const {
    int64_t row = 0, place = i * std::ssize(extents);
    for (const int64_t extent : extents) {
      const int64_t named = checked_index(numbers[place], place, extent, from_end ? -extent : 0);
      row = row * extent + (named < 0 ? named + extent : named);
      ++place;
    }
    return row;
  }
};

struct NamedElements {
  LabelsIn numbers;
  Ints extents;  // of the list
  Ints strides;  // of the whole
  size_t axis;
  int64_t groups = 1, count, width = 1, extent, whole;
  int64_t least;  // number; negative ones count from the end

  NamedElements(PrepareContext& c, std::string_view slot, const Shape& whole, int64_t along,
                bool from_end)
      : numbers(c, slot),
        extents(c.shape(slot).dims()),
        strides(dense_strides(whole)),
        axis(static_cast<size_t>(whole.axis(along))),
        count(c.shape(slot).numel()),
        extent(whole[whole.axis(along)]),
        whole(whole.numel()),
        least(from_end ? -extent : 0) {}
  int64_t of(int64_t i) const {
    const int64_t named = checked_index(numbers[i], i, extent, least);
    int64_t place = 0, rest = i;
    for (size_t a = extents.size(); a-- > 0; rest /= extents[a]) {
      const int64_t along = named < 0 ? named + extent : named;
      place += (a == axis ? along : rest % extents[a]) * strides[a];
    }
    return place;
  }
};

// ---- On a GPU -----------------------------------------------------------------------------------

// Which rows are meant, with the numbers that say so.
struct NamesOnGpu {
  LabelsIn numbers = {};
  RowNames names = {};
};

inline int most_axes_on_gpu(size_t axes) {
  require(axes <= RowNames::kMostAxes, "rows are named by at most {} axes on a GPU, but here by {}",
          RowNames::kMostAxes, axes);
  return static_cast<int>(axes);
}

inline NamesOnGpu names_of(const RowsAlongAxis& rows) {
  return {rows.numbers,
          {.groups = rows.groups, .count = rows.count, .width = rows.width, .rows = rows.extent}};
}

inline NamesOnGpu names_of(const RowsByEntry& rows) {
  RowNames names{.kind = RowNames::kByEntry,
                 .count = rows.count,
                 .width = rows.width,
                 .rows = Shape(rows.extents).numel(),
                 .from_end = rows.from_end,
                 .rank = most_axes_on_gpu(rows.extents.size())};
  std::copy(rows.extents.begin(), rows.extents.end(), names.extents);
  return {rows.numbers, names};
}

inline NamesOnGpu names_of(const NamedElements& rows) {
  RowNames names{.kind = RowNames::kElements,
                 .count = rows.count,
                 .rows = rows.whole,
                 .from_end = rows.least < 0,
                 .rank = most_axes_on_gpu(rows.extents.size()),
                 .axis = static_cast<int>(rows.axis),
                 .extent = rows.extent};
  std::copy(rows.extents.begin(), rows.extents.end(), names.extents);
  std::copy(rows.strides.begin(), rows.strides.end(), names.strides);
  return {rows.numbers, names};
}

// take_rows() and, in put_rows.h, what becomes of rows that are replaced, on a GPU. A build with
// CUDA fills them in before main() (named_rows.cu).
struct GpuRows {
  Step (*take)(PrepareContext& c, std::string_view in, std::string_view out,
               const NamesOnGpu& rows) = nullptr;
  Step (*clear)(PrepareContext& c, std::string_view in, std::string_view out,
                const NamesOnGpu& rows) = nullptr;
};
inline GpuRows gpu_rows = {};

// give_back(), put() and clear_replaced(), likewise.
template <typename T>
struct GpuRowSums {
  Step (*give_back)(PrepareContext& c, std::string_view in, std::string_view out,
                    const NamesOnGpu& rows, bool replace) = nullptr;
  Step (*put)(PrepareContext& c, std::string_view in, std::string_view list, std::string_view out,
              const NamesOnGpu& rows, Put how) = nullptr;
  Step (*clear_replaced)(PrepareContext& c, std::string_view list,
                         const NamesOnGpu& rows) = nullptr;
};
template <typename T>
inline GpuRowSums<T> gpu_sums = {};

// ---- Moves --------------------------------------------------------------------------------------

// The shape of a list of rows by the entries of `index`.
inline Shape shape_by_entry(const Shape& whole, const Shape& index) {
  require(index.rank() > 0, "Index must have at least one axis, but has shape []");
  const int64_t depth = index[index.rank() - 1];
  require(0 <= depth && depth <= whole.rank(),
          "the last axis of Index must name at most {} axes of X, but Index is {} and X is {}",
          whole.rank(), index, whole);
  Ints dims(index.begin(), index.end() - 1);
  dims.insert(dims.end(), whole.begin() + depth, whole.end());
  if (dims.empty()) dims.push_back(1);
  return Shape(std::move(dims));
}

// Refuses an Index that names no elements of Input along `Axis`.
inline void check_named_elements(const InferContext& c) {
  const Shape &x = c.in("Input").shape, &index = c.in("Index").shape;
  check_labels(c, "Index");
  require(x.rank() == index.rank(),
          "Index must have as many axes as Input, but they have shapes {} and {}", index, x);
  check_axis("Input", x, c.attr<int64_t>("Axis"));
  const int64_t axis = x.axis(c.attr<int64_t>("Axis"));
  for (int64_t a = 0; a < x.rank(); ++a) {
    require(a == axis || x[a] < 0 || index[a] < 0 || index[a] <= x[a],
            "Index must not reach beyond Input but along axis {}, but they have shapes {} and {}",
            axis, index, x);
  }
}

// The list in `out` takes its rows from the whole in `in`. Refuses a list of another size.
template <typename Rows>
Step take_rows(PrepareContext& c, std::string_view in, std::string_view out, const Rows& rows) {
  require(c.shape(out).numel() == rows.groups * rows.count * rows.width,
          "{} must hold {} rows of {} elements, but has shape {}", out, rows.groups * rows.count,
          rows.width, c.shape(out));
  if (on_gpu(c)) return gpu_rows.take(c, in, out, names_of(rows));
  const int64_t bytes = rows.width * size_of(c.dtype(in));
  return [rows, bytes, from = c.in_bytes(in), to = c.out_bytes(out)] {
    parallel_for(rows.groups * rows.count, bytes / 4 + 8, [&](int64_t i) {
      std::memcpy(to.data() + i * bytes, from.data() + rows.of(i) * bytes,
                  static_cast<size_t>(bytes));
    });
  };
}

// Rows of the list replace those of the whole, the last one of a number stays; or they are added,
// in order.
template <typename T, typename Rows>
void put_rows(const Rows& rows, const T* list, T* whole, bool replace) {
  parallel_for(rows.groups, rows.count * rows.width, [&](int64_t group) {
    for (int64_t i = group * rows.count; i < (group + 1) * rows.count; ++i) {
      const T* from = list + i * rows.width;
      T* to = whole + rows.of(i) * rows.width;
      if (replace) {
        std::copy_n(from, rows.width, to);
      } else {
        for (int64_t k = 0; k < rows.width; ++k) to[k] += from[k];
      }
    }
  });
}

// The gradient of the whole, of which rows were taken. `replace`: the last one of a row stays
// instead of their sum.
template <typename T, typename Rows>
Step give_back(PrepareContext& c, std::string_view in, std::string_view out, const Rows& rows,
               bool replace = false) {
  if (on_gpu(c)) return gpu_sums<T>.give_back(c, in, out, names_of(rows), replace);
  return [rows, replace, bytes = c.shape(out).numel() * static_cast<int64_t>(sizeof(T)),
          from = c.in<T>(in), to = c.out<T>(out)] {
    zero_bytes(to.data(), bytes);
    put_rows(rows, from.data(), to.data(), replace);
  };
}

template <typename T, typename Rows>
void clear_rows(const Rows& rows, T* whole) {
  for (int64_t i = 0; i < rows.groups * rows.count; ++i) {
    std::fill_n(whole + rows.of(i) * rows.width, rows.width, T{0});
  }
}

}  // namespace flotilla::ops
