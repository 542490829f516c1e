// flotilla/ops/common/math_formulas.h
//
// The functions of a pocket calculator: powers, roots, exponentials, logarithms, trigonometry,
// rounding.

#pragma once

#include <numbers>
#include <type_traits>

#include "flotilla/ops/common/activation_formulas.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops::unary {

struct Square {
  static constexpr UnaryInfo kInfo = {"square", "X * X", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return x * x; }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return 2 * g * x; }
};

struct Abs {
  static constexpr UnaryInfo kInfo = {"abs", "|X|", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return x < 0 ? -x : x; }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return x > 0 ? g : x < 0 ? -g : 0; }
};

struct Sqrt {
  static constexpr UnaryInfo kInfo = {"sqrt", "the square root of X", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return std::sqrt(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return 0.5f * g / o; }
};

struct Rsqrt {
  static constexpr UnaryInfo kInfo = {"rsqrt", "1 / the square root of X", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return 1 / std::sqrt(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return -0.5f * g * o * o * o; }
};

struct Reciprocal {
  static constexpr UnaryInfo kInfo = {"reciprocal", "1 / X", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return 1 / x; }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return -g * o * o; }
};

struct Exp {
  static constexpr UnaryInfo kInfo = {"exp", "e to the power of X", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return exp_of(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return g * o; }
};

struct Expm1 {
  static constexpr UnaryInfo kInfo = {"expm1", "exp(X) - 1, exact near 0", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return std::expm1(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return g * (o + 1); }
};

struct Log {
  static constexpr UnaryInfo kInfo = {"log", "the natural logarithm of X", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return log_of(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / x; }
};

struct Log2 {
  static constexpr UnaryInfo kInfo = {"log2", "the logarithm of X to the base 2", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::log2(x); }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    return g / (x * std::numbers::ln2_v<T>);
  }
};

struct Log10 {
  static constexpr UnaryInfo kInfo = {"log10", "the logarithm of X to the base 10", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::log10(x); }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    return g / (x * std::numbers::ln10_v<T>);
  }
};

struct Log1p {
  static constexpr UnaryInfo kInfo = {"log1p", "log(1 + X), exact near 0", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::log1p(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / (1 + x); }
};

struct Sin {
  static constexpr UnaryInfo kInfo = {"sin", "sin(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::sin(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g * std::cos(x); }
};

struct Cos {
  static constexpr UnaryInfo kInfo = {"cos", "cos(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::cos(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return -g * std::sin(x); }
};

struct Tan {
  static constexpr UnaryInfo kInfo = {"tan", "tan(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::tan(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) {
    const auto cosine = std::cos(x);
    return g / (cosine * cosine);
  }
};

struct Asin {
  static constexpr UnaryInfo kInfo = {"asin", "asin(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::asin(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / std::sqrt(1 - x * x); }
};

struct Acos {
  static constexpr UnaryInfo kInfo = {"acos", "acos(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::acos(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return -g / std::sqrt(1 - x * x); }
};

struct Atan {
  static constexpr UnaryInfo kInfo = {"atan", "atan(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::atan(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / (1 + x * x); }
};

struct Sinh {
  static constexpr UnaryInfo kInfo = {"sinh", "sinh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::sinh(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g * std::cosh(x); }
};

struct Cosh {
  static constexpr UnaryInfo kInfo = {"cosh", "cosh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::cosh(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g * std::sinh(x); }
};

struct Asinh {
  static constexpr UnaryInfo kInfo = {"asinh", "asinh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::asinh(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / std::sqrt(x * x + 1); }
};

struct Acosh {
  static constexpr UnaryInfo kInfo = {"acosh", "acosh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::acosh(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / std::sqrt(x * x - 1); }
};

struct Atanh {
  static constexpr UnaryInfo kInfo = {"atanh", "atanh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::atanh(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g / (1 - x * x); }
};

struct Erf {
  static constexpr UnaryInfo kInfo = {"erf", "the error function of X", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::erf(x); }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    return g * 2 * std::numbers::inv_sqrtpi_v<T> * exp_of(-x * x);
  }
};

// What jumps has no slope anywhere else.
struct Flat {
  FLT_FN static auto df(auto, auto, auto g, const auto&) { return decltype(g){0}; }
};

struct Floor : Flat {
  static constexpr UnaryInfo kInfo = {"floor", "X rounded down"};
  FLT_FN static auto f(auto x, const auto&) { return std::floor(x); }
};

struct Ceil : Flat {
  static constexpr UnaryInfo kInfo = {"ceil", "X rounded up"};
  FLT_FN static auto f(auto x, const auto&) { return std::ceil(x); }
};

// Halves go away from zero.
struct Round : Flat {
  static constexpr UnaryInfo kInfo = {"round", "X rounded to the nearest whole number"};
  FLT_FN static auto f(auto x, const auto&) { return std::round(x); }
};

struct Trunc : Flat {
  static constexpr UnaryInfo kInfo = {"trunc", "X rounded towards 0"};
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::trunc(x);
    }
  }
};

struct Logit {
  static constexpr UnaryInfo kInfo = {
      "logit",
      "log(X / (1 - X)), with X kept between eps and 1 - eps",
      kReadsX,
      {{"eps", 1e-6f, "how near 0 and 1 X may be; 0: as near as it is"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto above = x < p.a ? p.a : x;
    const auto kept = above > 1 - p.a ? 1 - p.a : above;
    return log_of(p.a > 0 ? kept / (1 - kept) : x / (1 - x));
  }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    return x < p.a || x > 1 - p.a ? 0 : g / (x * (1 - x));
  }
};

// x to the power of y; of whole numbers, the nearest one.
template <typename T>
FLT_FN T power(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::llrint(std::pow(static_cast<double>(x), static_cast<double>(y))));
  } else {
    return std::pow(x, y);
  }
}

struct Pow {
  static constexpr UnaryInfo kInfo = {"pow",
                                      "X to the power of `factor`",
                                      kReadsX,
                                      {{"factor", 1.0f, "the exponent", "FactorTensor"}}};
  FLT_FN static auto f(auto x, const auto& p) { return power(x, p.a); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    return g * p.a * std::pow(x, p.a - 1);
  }
};

struct Clip : Between {
  static constexpr UnaryInfo kInfo = {
      "clip",
      "X, but at least `min` and at most `max`",
      kReadsX,
      {{"min", 0.0f, "least value", "Min"}, {"max", 1.0f, "most", "Max"}}};
};

// -1, 0 or 1; NaN stays.
struct Sign {
  static constexpr UnaryInfo kInfo = {"sign"};
  FLT_FN static auto f(auto x, const auto&) { return x == x ? (x > 0) - (x < 0) : x; }
};

// Those of floats alone, and those of whole numbers too.
using FloatFunctions =
    Types<Sqrt, Rsqrt, Reciprocal, Exp, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos,
          Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Erf, Floor, Ceil, Round, Logit>;
using NumberFunctions = Types<Square, Abs, Trunc, Pow, Clip>;

}  // namespace flotilla::ops::unary
