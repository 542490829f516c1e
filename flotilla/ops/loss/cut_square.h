// Losses a (r - a / 2), or twice that, for a = r, cut off where the square ends; a is the slope,
// too.

#pragma once

#include <string>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {

inline std::string times(LowerContext& c, const std::string& x, float factor) {
  return factor == 1 ? x : c.scale(x, factor);
}

// `slope` is what has become of `r`.
inline std::string cut_square(LowerContext& c, const std::string& r, const std::string& slope,
                              float half = 0.5f) {
  return c.mul(slope, c.sub(r, times(c, slope, half)));
}

}  // namespace flotilla::ops
