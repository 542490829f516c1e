// flotilla/ops/common/fold_formulas.h
//
// Associative operations that many numbers are folded with, each with what it starts from; and the
// share of one element x in the gradient g of a fold whose result is o.

#pragma once

#include <limits>
#include <type_traits>

#include "flotilla/base/host_device.h"

namespace flotilla::ops {

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
    constexpr T kLeast = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::lowest();
    return kLeast;
  }
  FLT_FN static auto fold(auto a, auto b) { return a >= b || a != a ? a : b; }
};

struct MinFold {
  template <typename T>
  FLT_FN static constexpr T start() {
    constexpr T kMost = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::max();
    return kMost;
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

}  // namespace flotilla::ops
