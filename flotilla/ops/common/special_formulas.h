// flotilla/ops/common/special_formulas.h
//
// Functions of analysis: of Gamma and its logarithm, of Bessel, and the inverse of the error
// function. They are computed as doubles, from series that hold everywhere, and rounded once.

#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops::unary {

// Worked out here because a GPU cannot call the functions.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- Gamma --------------------------------------------------------------------------------------

// From here on the asymptotic series below are right to the last bit or two of a double.
inline constexpr double kFar = 18;

// The derivative of log(Gamma): x is moved up to kFar, or mirrored where it is negative.
FLT_FN double digamma_of(double x) {
  if (x <= 0 && x == std::floor(x)) return kNan;
  double sum = 0;
  if (x < 0) {
    sum = -std::numbers::pi / std::tan(std::numbers::pi * x);
    x = 1 - x;
  }
  for (; x < kFar; ++x) sum -= 1 / x;
  const double q = 1 / (x * x);
  const double rest =
      q * (1. / 12 - q * (1. / 120 - q * (1. / 252 - q * (1. / 240 - q * (1. / 132)))));
  return sum + std::log(x) - 0.5 / x - rest;
}

// Its derivative.
FLT_FN double trigamma_of(double x) {
  double sum = 0, sign = 1;
  if (x <= 0) {
    const double sine = std::sin(std::numbers::pi * x);
    sum = std::numbers::pi * std::numbers::pi / (sine * sine);
    sign = -1;
    x = 1 - x;
  }
  for (; x < kFar; ++x) sum += sign / (x * x);
  const double q = 1 / (x * x);
  const double rest = q * (1. / 6 - q * (1. / 30 - q * (1. / 42 - q * (1. / 30 - q * (5. / 66)))));
  return sum + sign * (1 + 0.5 / x + rest) / x;
}

struct Lgamma {
  static constexpr UnaryInfo kInfo = {"lgamma", "log(|Gamma(X)|)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return std::lgamma(x); }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    return g * static_cast<T>(digamma_of(x));
  }
};

struct Digamma {
  static constexpr UnaryInfo kInfo = {"digamma", "the derivative of log(Gamma(X))", kReadsX};
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    return static_cast<T>(digamma_of(x));
  }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    return g * static_cast<T>(trigamma_of(x));
  }
};

// ---- Modified Bessel functions of the first kind ------------------------------------------------

// exp(-|x|) I_order(x). All terms of the power series have one sign; far out there is another one.
template <int order>
FLT_FN double scaled_bessel(double x) {
  const double size = std::abs(x), sign = order % 2 == 1 && x < 0 ? -1 : 1;
  double term = 1, sum = 1;
  if (size <= 30) {
    const double q = size * size / 4;
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= q / (k * (k + order));
    return sign * sum * std::exp(-size) * (order == 0 ? 1 : size / 2);
  }
  for (int k = 1; std::abs(term) > 1e-17; ++k) {
    sum += term *= ((2. * k - 1) * (2 * k - 1) - 4 * order * order) / (8 * k * size);
  }
  return sign * sum / std::sqrt(2 * std::numbers::pi * size);
}

// I1(x) / x, scaled: one half at zero.
FLT_FN double bessel_slope(double x) { return x == 0 ? 0.5 : scaled_bessel<1>(x) / x; }
FLT_FN double sign_of(double x) { return (x > 0) - (x < 0); }

// A function of Bessel as an operator; its slots are x and out. Scaled ones end in e.
template <typename F, bool kScaled>
struct Bessel {
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    return static_cast<T>(F::value(x) * factor(x));
  }
  // Of the scaled function, exp(-|x|) has a slope of its own.
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    const double own = kScaled ? sign_of(x) * F::value(x) : 0;
    return g * static_cast<T>((F::slope(x) - own) * factor(x));
  }
  FLT_FN static double factor(double x) { return kScaled ? 1 : std::exp(std::abs(x)); }
};

struct BesselZero {
  FLT_FN static double value(double x) { return scaled_bessel<0>(x); }
  FLT_FN static double slope(double x) { return scaled_bessel<1>(x); }
};
struct BesselOne {
  FLT_FN static double value(double x) { return scaled_bessel<1>(x); }
  FLT_FN static double slope(double x) { return scaled_bessel<0>(x) - bessel_slope(x); }
};

struct I0 : Bessel<BesselZero, false> {
  static constexpr UnaryInfo kInfo = {"i0", "Bessel's I0(x)", kReadsX, {}, kReadsNothing, "x",
                                      "out"};
};
struct I0e : Bessel<BesselZero, true> {
  static constexpr UnaryInfo kInfo = {"i0e", "exp(-|x|) I0(x)", kReadsX, {}, kReadsOut, "x", "out"};
};
struct I1 : Bessel<BesselOne, false> {
  static constexpr UnaryInfo kInfo = {"i1", "Bessel's I1(x)", kReadsX, {}, kReadsOut, "x", "out"};
};
struct I1e : Bessel<BesselOne, true> {
  static constexpr UnaryInfo kInfo = {"i1e", "exp(-|x|) I1(x)", kReadsX, {}, kReadsOut, "x", "out"};
};

// ---- The inverse of the error function ----------------------------------------------------------

// Begins near (Winitzki, 2008), then Halley's steps, each of which triples the digits.
FLT_FN double erfinv_of(double x) {
  if (std::abs(x) >= 1) return std::copysign(kInfinity, x);
  const double log = std::log1p(-x * x), half = 2 / (std::numbers::pi * 0.147) + log / 2;
  double y = std::copysign(std::sqrt(std::sqrt(half * half - log / 0.147) - half), x);
  for (int i = 0; i < 3; ++i) {
    const double miss = (std::erf(y) - x) * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
    y -= miss / (1 + y * miss);
  }
  return y;
}

struct Erfinv {
  static constexpr UnaryInfo kInfo = {"erfinv", "the number whose error function is X", kReadsOut};
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    return static_cast<T>(erfinv_of(x));
  }
  template <typename T>
  FLT_FN static T df(T, T o, T g, const Params<T>&) {
    return g * exp_of(o * o) / (2 * std::numbers::inv_sqrtpi_v<T>);
  }
};

using SpecialFunctions = Types<Lgamma, Digamma, I0, I0e, I1, I1e, Erfinv>;

}  // namespace flotilla::ops::unary
