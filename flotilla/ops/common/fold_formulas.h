// flotilla/ops/common/fold_formulas.h
//
// Associative operations that many numbers are folded with, each with what it starts from; what
// ends a fold; and the share of one element x in the gradient g of a fold whose result is o.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "flotilla/base/half.h"
#include "flotilla/base/host_device.h"
#include "flotilla/ops/common/scalar.h"

namespace flotilla::ops {

// No number lies below, or above. A GPU can read constants, but not call what they are made by.
template <typename T>
inline constexpr T kLeast = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::lowest();
template <typename T>
inline constexpr T kMost = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                       : std::numeric_limits<T>::max();
// Finite ones.
template <typename T>
inline constexpr T kLowest = std::numeric_limits<T>::lowest();
template <typename T>
inline constexpr T kHighest = std::numeric_limits<T>::max();

struct SumFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return T{0};
  }
  FLT_FN static auto fold(auto a, auto b) { return a + b; }
};

struct ProductFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return T{1};
  }
  FLT_FN static auto fold(auto a, auto b) { return a * b; }
};

// NaN stays NaN, wherever it stands.
struct MaxFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return kLeast<T>;
  }
  FLT_FN static auto fold(auto a, auto b) { return a >= b || a != a ? a : b; }
};

struct MinFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return kMost<T>;
  }
  FLT_FN static auto fold(auto a, auto b) { return a <= b || a != a ? a : b; }
};

struct AllFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return true;
  }
  FLT_FN static bool fold(bool a, bool b) { return a && b; }
};

struct AnyFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    return false;
  }
  FLT_FN static bool fold(bool a, bool b) { return a || b; }
};

// Ends each result: a mean is a sum that is divided by the number of its elements. One type for all
// folds, since each type of it is another set of loops.
struct Divided {
  int64_t by = 1;

  // `folded` elements become `kept`.
  static Divided mean(int64_t kept, int64_t folded) {
    return {std::max<int64_t>(1, folded) / std::max<int64_t>(1, kept)};
  }
  template <typename T>
  FLT_FN T operator()(T total) const {
    if (by == 1) return total;
    // The mean of no whole numbers is zero, because no whole number stands for it.
    if (std::is_integral_v<T> && by == 0) return T{0};
    return total / static_cast<T>(by);
  }
};

// What a mean of `folded` elements, shared out to one of `kept`, is divided by.
template <typename T>
Compute<T> mean_factor(int64_t kept, int64_t folded) {
  return static_cast<Compute<T>>(kept) / static_cast<Compute<T>>(std::max<int64_t>(1, folded));
}

// The elements that are the extreme get its gradient, all of them.
struct ExtremeGrad {
  FLT_FN static auto f(auto o, auto g, auto x, auto) { return x == o ? g : 0; }
};

// amax, amin: those that are the extreme share its gradient.
struct IsExtreme {
  FLT_FN static auto f(auto o, auto, auto x, auto) { return static_cast<decltype(x)>(x == o); }
};
struct ExtremeShare {
  FLT_FN static auto f(auto count, auto g, auto is_extreme, auto) { return is_extreme * g / count; }
};

struct ProductGrad {
  FLT_FN static auto f(auto o, auto g, auto x, auto) { return g * o / x; }
};

// A norm of zero has the gradient zero.
struct NormGrad {
  template <typename T>
  FLT_FN static T f(T o, T g, T x, T) {
    return x * (g / (o + T{1e-12}));
  }
};

// Of log(sum(exp(x))).
struct LogSumExpGrad {
  template <typename T>
  FLT_FN static T f(T o, T g, T x, T) {
    return g * exp_of(x - o);
  }
};

}  // namespace flotilla::ops
