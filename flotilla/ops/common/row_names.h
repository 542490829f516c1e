// flotilla/ops/common/row_names.h
//
// Rows of a tensor that whole numbers name (ops/tensor/named_rows.h), as a GPU works with them:
// numbers that name no row are left out, and rows taken by them are zeros.

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/host_device.h"
#include "flotilla/device/stream.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/labels.h"

namespace flotilla::ops {

// Whole numbers in the memory of a GPU.
struct Numbers {
  const void* data = nullptr;
  bool wide = true;  // i64, otherwise i32

  FLT_FN int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// `groups` groups of `count` numbers, the same ones for each group, name rows of `width` elements,
// of which a group of the whole has `rows`.
struct RowNames {
  enum Kind { kAlongAxis, kByEntry, kElements };
  static constexpr int kMostAxes = 12;

  Kind kind = kAlongAxis;
  int64_t groups = 1, count = 0, width = 1, rows = 0;
  int64_t padding = -1;  // kAlongAxis: names no row; -1: none does so
  bool from_end = false;
  int rank = 0, axis = 0;
  int64_t extents[kMostAxes] = {};  // kByEntry: of the named axes; kElements: of the list
  int64_t strides[kMostAxes] = {};  // kElements: of the whole
  int64_t extent = 0;               // kElements: of the named axis

  // The row within a group that entry i of a group names; -1: none.
  FLT_FN int64_t of(const Numbers& numbers, int64_t i) const {
    if (kind == kAlongAxis) {
      const int64_t row = numbers[i];
      return row < 0 || row >= rows || (row == padding && padding != -1) ? -1 : row;
    }
    if (kind == kByEntry) {
      int64_t row = 0;
      for (int a = 0; a < rank; ++a) {
        const int64_t at = within(numbers[i * rank + a], extents[a]);
        if (at < 0) return -1;
        row = row * extents[a] + at;
      }
      return row;
    }
    const int64_t named = within(numbers[i], extent);
    int64_t place = 0, rest = i;
    for (int a = rank - 1; a >= 0; --a) {
      place += (a == axis ? named : rest % extents[a]) * strides[a];
      rest /= extents[a];
    }
    return named < 0 ? -1 : place;
  }

 private:
  FLT_FN int64_t within(int64_t number, int64_t of_axis) const {
    const int64_t at = number < 0 && from_end ? number + of_axis : number;
    return at < of_axis ? at : -1;
  }
};

// Where row i of a list lies: `per_row` of them lie side by side, and such lines `stride` elements
// apart; groups of a list lie `group_stride` apart.
struct ListPlaces {
  int64_t per_row = 1, stride = 0, group_stride = 0;

  static ListPlaces dense(const RowNames& names) {
    return {1, names.width, names.count * names.width};
  }
  FLT_FN int64_t of(int64_t group, int64_t i, int64_t width) const {
    if (per_row == 1) return group * group_stride + i * stride;
    return group * group_stride + i / per_row * stride + i % per_row * width;
  }
};

// What happens to rows of the whole: the last row of the list with their name replaces them, or the
// sum of all, or that is added.
enum class Put { kReplace, kReplaceBySum, kAdd };

}  // namespace flotilla::ops
