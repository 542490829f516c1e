// flotilla/ops/common/agree.h
//
// What `infer` says of inputs that belong together.

#pragma once

#include <string_view>

#include "flotilla/op/infer.h"

namespace flotilla::ops {

// Whether both are one shape, as far as their extents are known.
inline bool may_be_equal(const Shape& x, const Shape& y) {
  bool equal = x.rank() == y.rank();
  for (int64_t a = 0; equal && a < x.rank(); ++a) equal = x[a] == y[a] || x[a] < 0 || y[a] < 0;
  return equal;
}

inline void check_same_shape(const InferContext& c, std::string_view x, std::string_view y) {
  require(may_be_equal(c.in(x).shape, c.in(y).shape),
          "{} and {} must have one shape, but they are {} and {}", x, y, c.in(x).shape,
          c.in(y).shape);
}

inline void check_same_dtype(const InferContext& c, std::string_view x, std::string_view y) {
  require(c.dtype(x) == c.dtype(y), "{} and {} must have one dtype, but hold {} and {}", x, y,
          c.dtype(x), c.dtype(y));
}

}  // namespace flotilla::ops
