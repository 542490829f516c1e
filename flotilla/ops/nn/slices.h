// flotilla/ops/nn/slices.h
//
// An axis cuts a tensor into slices.

#pragma once

#include <cstdint>

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

inline Slices slices(const Shape& shape, int64_t axis) {
  const int64_t a = axis < 0 ? axis + shape.rank() : axis;
  return {shape.numel(0, a), shape[a], shape.numel(a + 1, shape.rank())};
}

// Refuses an axis that `shape` does not have. `slot` names the tensor.
inline void check_axis(std::string_view slot, const Shape& shape, int64_t axis) {
  require(-shape.rank() <= axis && axis < shape.rank(),
          "axis must lie in [{}, {}) because {} has shape {}, but axis is {}", -shape.rank(),
          shape.rank(), slot, shape, axis);
}

}  // namespace flotilla::ops
