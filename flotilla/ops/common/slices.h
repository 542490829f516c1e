// flotilla/ops/common/slices.h
//
// An axis cuts a tensor into slices.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/shape.h"

namespace flotilla::ops {

// count() slices of n elements that lie `stride` apart.
struct Slices {
  int64_t outer = 1, n = 1, stride = 1;

  int64_t count() const { return outer * stride; }
  int64_t begin(int64_t i) const { return i / stride * n * stride + i % stride; }
  int64_t end(int64_t i) const { return begin(i) + n * stride; }
};

// `flat`: all elements are one slice. A number is one, too.
inline Slices slices(const Shape& shape, int64_t axis, bool flat = false) {
  if (flat || shape.rank() == 0) return {1, shape.numel(), 1};
  const int64_t a = axis < 0 ? axis + shape.rank() : axis;
  return {shape.numel(0, a), shape[a], shape.numel(a + 1, shape.rank())};
}

// Refuses an axis that `shape` does not have. `slot` names the tensor.
inline void check_axis(std::string_view slot, const Shape& shape, int64_t axis) {
  require(-shape.rank() <= axis && axis < shape.rank(),
          "axis must lie in [{}, {}) because {} has shape {}, but axis is {}", -shape.rank(),
          shape.rank(), slot, shape, axis);
}

// The shape without the axis, or without all of them (`flat`); with `keep` they stay, with extent
// 1. Never without any axis. Refuses an axis that `shape` does not have.
inline Shape without_axis(const Shape& shape, int64_t axis, bool flat, bool keep) {
  std::vector<int64_t> dims = shape.dims();
  if (flat || dims.empty()) {
    dims.assign(keep ? std::max<size_t>(1, dims.size()) : 1, 1);
    return Shape(std::move(dims));
  }
  const auto at = dims.begin() + shape.axis(axis);
  if (keep) {
    *at = 1;
  } else {
    dims.erase(at);
  }
  return dims.empty() ? Shape{1} : Shape(std::move(dims));
}

}  // namespace flotilla::ops
