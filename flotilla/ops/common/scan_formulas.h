// flotilla/ops/common/scan_formulas.h
//
// What walks along an axis gather. Each is associative, so that pieces of a walk can be joined: a
// state holds what a piece found, and join(a, b) is that of a piece and the one behind it.

#pragma once

#include <cmath>
#include <limits>

#include "flotilla/base/host_device.h"
#include "flotilla/ops/common/scalar.h"

namespace flotilla::ops {

// exp(a - b), also where both are the same infinity.
template <typename T>
FLT_FN T ratio(T a, T b) {
  return a == b ? T{1} : std::exp(a - b);
}

// log(sum(exp(x))) of what was added so far. It is the lowest number for nothing, and for -inf
// alone, as in Paddle.
template <typename T>
struct LogSum {
  static constexpr T kLowest = std::numeric_limits<T>::lowest();

  T largest;
  T sum;  // of exp(x - largest)

  FLT_FN static LogSum start() {
    constexpr T lowest = kLowest;
    return {lowest, T{0}};
  }
  FLT_FN static LogSum join(const LogSum& a, const LogSum& b) {
    if (b.largest > a.largest) return {b.largest, a.sum * ratio(a.largest, b.largest) + b.sum};
    return {a.largest, a.sum + b.sum * ratio(b.largest, a.largest)};
  }
  // NaN stays what it is.
  FLT_FN T get() const {
    constexpr T lowest = kLowest;
    return larger_of(largest + std::log(sum), lowest);
  }
};

}  // namespace flotilla::ops
