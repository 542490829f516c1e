// Diagonals: of two axes the places where the index along the second is that along the first and
// `offset` more.

#pragma once

#include <algorithm>

#include "flotilla/op/infer.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

struct DiagonalAxes {
  int64_t first = 0, second = 1, offset = 0;
};

// Inside a tensor of `whole` extents, of which some may be unknown.
inline Box diagonal_of(const Shape& whole, const DiagonalAxes& axes) {
  const int64_t rows = whole[axes.first], columns = whole[axes.second];
  const int64_t down = std::max<int64_t>(0, -axes.offset),
                right = std::max<int64_t>(0, axes.offset);
  const Ints strides = dense_strides(whole);
  const int64_t by_row = strides[static_cast<size_t>(axes.first)];
  const int64_t by_column = strides[static_cast<size_t>(axes.second)];
  Box box{.first = down * by_row + right * by_column};
  for (int64_t a = 0; a < whole.rank(); ++a) {
    if (a == axes.first || a == axes.second) continue;
    box.extents.push_back(whole[a]);
    box.strides.push_back(strides[static_cast<size_t>(a)]);
  }
  const int64_t length = std::max<int64_t>(0, std::min(rows - down, columns - right));
  box.extents.push_back(rows < 0 || columns < 0 ? -1 : length);
  box.strides.push_back(by_row + by_column);
  return box;
}

template <typename Context>
DiagonalAxes axes_of(const Context& c, const Shape& whole, const char* first, const char* second) {
  const DiagonalAxes axes = {whole.axis(c.template attr<int64_t>(first)),
                             whole.axis(c.template attr<int64_t>(second)),
                             c.template attr<int64_t>("offset")};
  require(axes.first != axes.second, "{} and {} of {} must be different axes, but both are {}",
          first, second, c.op().type(), axes.first);
  return axes;
}

// Of Input: the other axes, then the diagonal.
inline Shape diagonal_shape(const InferContext& c) {
  const Shape& input = c.in("Input").shape;
  require(input.rank() >= 2, "{} takes tensors with two axes or more, but Input has shape {}",
          c.op().type(), input);
  return Shape(diagonal_of(input, axes_of(c, input, "axis1", "axis2")).extents);
}

inline const AttrSpec kOffset = {"offset", int32_t{0},
                                 "which diagonal; above the main one if positive"};

inline const std::vector<AttrSpec> kDiagonalAxes = {kOffset,
                                                    {"axis1", int32_t{0}, "axis of the rows"},
                                                    {"axis2", int32_t{1}, "axis of the columns"}};

}  // namespace flotilla::ops
