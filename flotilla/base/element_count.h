// flotilla/base/element_count.h

#pragma once

#include <cstdint>

#include "flotilla/base/error.h"

namespace flotilla {

// The most elements that a tensor can have: more than any memory holds, and so few that the bytes
// they take can be counted without overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 55;

// The product of two counts of elements; refuses one of more than kMaxElements.
inline int64_t checked_product(int64_t a, int64_t b) {
  require(a == 0 || b <= kMaxElements / a,
          "a tensor can have 2^55 elements at most, but {} times {} are asked for", a, b);
  return a * b;
}

// An extent, which may be unknown (-1), times a number above zero.
inline int64_t checked_multiple(int64_t extent, int64_t factor) {
  return extent < 0 ? extent : checked_product(extent, factor);
}

// An extent that was computed with fractions, cut to a whole number.
inline int64_t checked_extent(double extent) {
  require(extent > -1 && extent <= static_cast<double>(kMaxElements),
          "an extent must lie in [0, 2^55], but {} is asked for", extent);
  return static_cast<int64_t>(extent);
}

}  // namespace flotilla
