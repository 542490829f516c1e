// flotilla/ops/common/walk.h
//
// How two operands are walked along with a result of their common, broadcast shape. The result is
// dense, in any layout; an operand moves by its own number of elements along each axis, by none
// where it is repeated. Axes along which all move evenly become one, so that most walks have one or
// two axes left:
//
//     [64, 128] + [64, 128]            one row of 8192 columns
//     [64, 128] + [128]                64 rows of 128 columns, Y the same for each row
//     [8, 32, 7, 7] + [32] at axis 1   8 times 32 rows of 49 columns, Y the same for each column

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"
#include "flotilla/device/cpu/parallel.h"

namespace flotilla::ops {

// One axis of a walk: how far the operands move.
struct WalkAxis {
  int64_t extent = 1;
  int64_t x = 0;
  int64_t y = 0;
};

// The extents of an operand as axes of the result: 1 where it is repeated.
// `axis` says where the operand's first axis stands; -1 aligns the last ones.
Shape aligned(const Shape& operand, int64_t axis, int64_t rank);

// Both shapes of a binary operator as axes of `out`, by Paddle's rule for `axis`.
struct AlignedPair {
  Shape x, y;
};
AlignedPair aligned_pair(const Shape& x, const Shape& y, int64_t axis, int64_t rank);

// A block of rows with its place in the result and the operands, in elements.
struct WalkBlock {
  int64_t out = 0, x = 0, y = 0;
  int64_t rows = 1, columns = 1;
};

class Walk {
 public:
  // `x` and `y` are extents as axes of `out`. An operand of the shape of `out` lies in `layout`
  // too; another one row by row. REQUIRES: `out` is known; `layout` has no padding, or both are
  // like `out`, or what is repeated is padded as `out` is.
  Walk(const Shape& out, const Layout& layout, const Shape& x, const Shape& y);

  const std::vector<WalkAxis>& axes() const { return axes_; }
  const WalkAxis& row() const { return row_; }
  const WalkAxis& column() const { return column_; }
  int64_t numel() const { return outer_count_ * row_.extent * column_.extent; }

  // Calls f(block) for blocks that cover the result once, on several threads.
  template <typename F>
  void run(F&& f) const;

 private:
  WalkBlock block_at(int64_t row, int64_t end) const;

  std::vector<WalkAxis> axes_;  // all, outermost first
  std::vector<WalkAxis> outer_;
  WalkAxis row_, column_;  // the inner two
  int64_t outer_count_ = 1;
};

// The axes of `out` in `layout`, outermost first in memory, with the strides of x and y. Extents of
// one are left out and axes that can be are merged.
std::vector<WalkAxis> walk_axes(const Shape& out, const Layout& layout, const Shape& x,
                                const Shape& y);

template <typename F>
void Walk::run(F&& f) const {
  const int64_t rows = outer_count_ * row_.extent;
  if (rows == 1) {
    parallel_ranges(column_.extent, kGrainOperations, [&](int64_t begin, int64_t end) {
      f(WalkBlock{begin, begin * column_.x, begin * column_.y, 1, end - begin});
    });
    return;
  }
  const int64_t grain =
      std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(column_.extent, 1));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const WalkBlock block = block_at(begin, end);
      f(block);
      begin += block.rows;
    }
  });
}

}  // namespace flotilla::ops
