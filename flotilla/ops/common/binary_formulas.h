// flotilla/ops/common/binary_formulas.h
//
// The arithmetic of two numbers. An operator is a type: what it computes, and the derivatives
// towards X and Y given the gradient g of the result o.

#pragma once

#include <type_traits>

#include "flotilla/base/error.h"
#include "flotilla/ops/common/math_formulas.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"

namespace flotilla::ops::binary {

// What a derivative reads besides the gradient of the result.
enum Reads { kNothing = 0, kX = 1, kY = 2, kOut = 4 };

struct BinaryInfo {
  const char* type = "";
  const char* formula = "";  // Out = ...
  bool keeps_zero = false;   // f(0, 0) = 0
  int dx_reads = kNothing, dy_reads = kNothing;
  // The derivative is this many times g, whatever X and Y are; 0: it is not that simple.
  int dx_factor = 0, dy_factor = 0;
};

[[noreturn, gnu::noinline]] inline void divided_by_zero() {
  refuse("Y holds a zero, and integers cannot be divided by it");
}

// Whether a whole number is to be divided by zero. A CPU refuses; a GPU cannot, and gives 0.
template <typename T>
FLT_FN bool no_divisor(T y) {
#ifndef __CUDA_ARCH__
  if (y == 0) [[unlikely]]
    divided_by_zero();
#endif
  return y == 0;
}

template <typename T>
FLT_FN T divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (no_divisor(y)) return 0;
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  }
  return x / y;
}

// With the sign of the divisor, as in Python.
template <typename T>
FLT_FN T modulo(T x, T y) {
  T rest = 0;
  if constexpr (std::is_integral_v<T>) {
    if (no_divisor(y)) return 0;
    if (y == -1) return 0;
    rest = x % y;
  } else {
    rest = std::fmod(x, y);
  }
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

template <typename T>
FLT_FN T floor_divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = divide(x, y);
    return quotient * y != x && (x < 0) != (y < 0) ? quotient - 1 : quotient;
  } else {
    return std::floor(x / y);
  }
}

struct Add {
  static constexpr BinaryInfo kInfo = {"elementwise_add", "X + Y", true, kNothing, kNothing, 1, 1};
  FLT_FN static auto f(auto x, auto y) { return x + y; }
  FLT_FN static auto dx(auto, auto, auto, auto g) { return g; }
  FLT_FN static auto dy(auto, auto, auto, auto g) { return g; }
};

struct Sub {
  static constexpr BinaryInfo kInfo = {"elementwise_sub", "X - Y", true, kNothing, kNothing, 1, -1};
  FLT_FN static auto f(auto x, auto y) { return x - y; }
  FLT_FN static auto dx(auto, auto, auto, auto g) { return g; }
  FLT_FN static auto dy(auto, auto, auto, auto g) { return -g; }
};

struct Mul {
  static constexpr BinaryInfo kInfo = {"elementwise_mul", "X * Y", true, kY, kX};
  FLT_FN static auto f(auto x, auto y) { return x * y; }
  FLT_FN static auto dx(auto, auto y, auto, auto g) { return g * y; }
  FLT_FN static auto dy(auto x, auto, auto, auto g) { return g * x; }
};

struct Div {
  static constexpr BinaryInfo kInfo = {"elementwise_div", "X / Y", false, kY, kY | kOut};
  FLT_FN static auto f(auto x, auto y) { return divide(x, y); }
  FLT_FN static auto dx(auto, auto y, auto, auto g) { return g / y; }
  FLT_FN static auto dy(auto, auto y, auto o, auto g) { return -g * o / y; }
};

// Where both are equal, Y gets the gradient; where one is NaN, neither.
struct Max {
  static constexpr BinaryInfo kInfo = {"elementwise_max", "the larger of X and Y", true, kX | kY,
                                       kX | kY};
  FLT_FN static auto f(auto x, auto y) { return x > y ? x : y; }
  FLT_FN static auto dx(auto x, auto y, auto, auto g) { return x > y ? g : 0; }
  FLT_FN static auto dy(auto x, auto y, auto, auto g) { return x <= y ? g : 0; }
};

struct Min {
  static constexpr BinaryInfo kInfo = {"elementwise_min", "the smaller of X and Y", true, kX | kY,
                                       kX | kY};
  FLT_FN static auto f(auto x, auto y) { return x < y ? x : y; }
  FLT_FN static auto dx(auto x, auto y, auto, auto g) { return x < y ? g : 0; }
  FLT_FN static auto dy(auto x, auto y, auto, auto g) { return x >= y ? g : 0; }
};

// The other one where one is not a number. Where both are equal, X gets the gradient.
template <bool kLarger>
struct NumberExtreme {
  static constexpr BinaryInfo kInfo = {
      kLarger ? "elementwise_fmax" : "elementwise_fmin",
      kLarger ? "the larger number of X and Y" : "the smaller number of X and Y", true, kX | kY,
      kX | kY};
  FLT_FN static bool takes_x(auto x, auto y) { return (kLarger ? x >= y : x <= y) || y != y; }
  FLT_FN static auto f(auto x, auto y) { return takes_x(x, y) ? x : y; }
  FLT_FN static auto dx(auto x, auto y, auto, auto g) { return takes_x(x, y) ? g : 0; }
  FLT_FN static auto dy(auto x, auto y, auto, auto g) { return takes_x(x, y) ? 0 : g; }
};

struct Pow {
  static constexpr BinaryInfo kInfo = {"elementwise_pow", "X to the power of Y", false, kX | kY,
                                       kX | kY};
  FLT_FN static auto f(auto x, auto y) { return unary::power(x, y); }
  FLT_FN static auto dx(auto x, auto y, auto, auto g) { return g * y * std::pow(x, y - 1); }
  FLT_FN static auto dy(auto x, auto y, auto, auto g) { return g * std::log(x) * std::pow(x, y); }
};

// 0 below zero, Y at zero, 1 above.
struct Heaviside {
  static constexpr BinaryInfo kInfo = {
      "elementwise_heaviside", "0 where X < 0, Y where X = 0, 1 where X > 0", true, kNothing, kX};
  FLT_FN static auto f(auto x, auto y) { return x == 0 ? y : x > 0 ? 1 : 0; }
  FLT_FN static auto dx(auto, auto, auto, auto g) { return decltype(g){0}; }
  FLT_FN static auto dy(auto x, auto, auto, auto g) { return x == 0 ? g : 0; }
};

// These two have no derivative.
struct Mod {
  static constexpr BinaryInfo kInfo = {"elementwise_mod", "the rest of X / Y, with the sign of Y"};
  FLT_FN static auto f(auto x, auto y) { return modulo(x, y); }
};

struct FloorDiv {
  static constexpr BinaryInfo kInfo = {"elementwise_floordiv", "X / Y rounded down"};
  FLT_FN static auto f(auto x, auto y) { return floor_divide(x, y); }
};

template <typename F>
inline constexpr bool differentiable = requires {
  F::dx(0.f, 0.f, 0.f, 0.f);
};
// Whether whole numbers may be divided by zero.
template <typename F>
inline constexpr bool divides =
    std::is_same_v<F, Div> || std::is_same_v<F, Mod> || std::is_same_v<F, FloorDiv>;

using Arithmetic = Types<Add, Sub, Mul, Div, Max, Min, NumberExtreme<true>, NumberExtreme<false>,
                         Pow, Heaviside, Mod, FloorDiv>;

}  // namespace flotilla::ops::binary
