// flotilla/ops/tensor/slice_range.h
//
// The elements start, start + stride, ... of some axes, up to and without end. As in Python, a
// negative start or end counts from the end of the axis, and what lies outside is cut off.

#pragma once

#include <algorithm>
#include <limits>

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// One axis of a slice: `count` elements from `first` on, each `stride` behind the one before.
struct Range {
  int64_t first = 0;
  int64_t stride = 1;
  int64_t count = -1;  // not known yet
};

inline Range range_of(int64_t extent, int64_t start, int64_t end, int64_t stride) {
  require(stride != 0 && stride != std::numeric_limits<int64_t>::min(),
          "a stride of a slice must not be {}", stride);
  if (extent == 0) return {0, stride, 0};
  const auto place = [&](int64_t at, int64_t high) {
    return std::clamp(at < 0 ? at + extent : at, int64_t{0}, high);
  };
  const bool forwards = stride > 0;
  const int64_t first = place(start, forwards ? extent : extent - 1);
  // Going backwards, an end of exactly -1 takes the first element along, as in Paddle.
  const int64_t last = !forwards && end == -1 ? -1 : place(end, extent);
  const int64_t span = forwards ? last - first : first - last;
  require(span >= 0, "a slice with stride {} cannot go from {} to {} along an axis of extent {}",
          stride, start, end, extent);
  const int64_t step = forwards ? stride : -stride;
  return {first, stride, span == 0 ? 0 : (span - 1) / step + 1};
}

// Where ranges along some axes of a tensor of `shape` lie.
inline Box sliced(const Shape& shape, const Ints& axes, const Ints& starts, const Ints& ends,
                  const Ints& strides) {
  Box box{.extents = shape.dims(), .strides = dense_strides(shape)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(shape.axis(axes[i]));
    const Range range = range_of(box.extents[axis], starts[i], ends[i], strides[i]);
    box.extents[axis] = range.count;
    box.first += range.first * box.strides[axis];
    if (range.count > 1) box.strides[axis] *= range.stride;  // which is not larger than the axis
  }
  return box;
}

}  // namespace flotilla::ops
