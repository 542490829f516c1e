// flotilla/ops/common/activation_formulas.h
//
// The activation functions of layers. What becomes of NaN and infinities is Paddle's choice,
// formula by formula: a factor of 0 or 1 in the place of a condition lets them through.

#pragma once

#include <numbers>

#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops::unary {

struct Relu {
  static constexpr UnaryInfo kInfo = {"relu", "max(X, 0)", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return x > 0 ? x : 0; }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return o > 0 ? g : 0; }
};

struct Tanh {
  static constexpr UnaryInfo kInfo = {"tanh", "tanh(X)", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return tanh_of(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return g * (1 - o * o); }
};

struct Sigmoid {
  static constexpr UnaryInfo kInfo = {"sigmoid", "1 / (1 + exp(-X))", kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return sigmoid_of(x); }
  FLT_FN static auto df(auto, auto o, auto g, const auto&) { return g * o * (1 - o); }
};

struct Softplus {
  static constexpr UnaryInfo kInfo = {"softplus",
                                      "log(1 + exp(beta X)) / beta",
                                      kReadsX,
                                      {{"beta", 1.0f, "sharpness of the bend"},
                                       {"threshold", 20.0f, "beta X above which Out is X"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto scaled = x * p.a;
    return scaled > p.b ? x : softplus_of(scaled) / p.a;
  }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    const auto scaled = x * p.a;
    return scaled > p.b ? g : g * sigmoid_of(scaled);
  }
};

// The derivative follows Paddle's, which sees the result alone: none where that is beyond the
// threshold, and that of the bound where X lies below it.
struct SoftRelu {
  static constexpr UnaryInfo kInfo = {"soft_relu",
                                      "log(1 + exp(min(max(X, -threshold), threshold)))",
                                      kReadsOut,
                                      {{"threshold", 40.0f, "how far from 0 X may be"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto above = x < -p.a ? -p.a : x;
    return softplus_of(above > p.a ? p.a : above);
  }
  FLT_FN static auto df(auto, auto o, auto g, const auto& p) {
    return o > -p.a && o < p.a ? -g * std::expm1(-o) : 0;
  }
};

struct LogSigmoid {
  static constexpr UnaryInfo kInfo = {"logsigmoid", "log(1 / (1 + exp(-X)))", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return -softplus_of(-x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) { return g * sigmoid_of(-x); }
};

struct Softsign {
  static constexpr UnaryInfo kInfo = {"softsign", "X / (1 + |X|)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return x / (1 + (x < 0 ? -x : x)); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) {
    const auto scale = 1 + (x < 0 ? -x : x);
    return g / (scale * scale);
  }
};

struct LeakyRelu {
  static constexpr UnaryInfo kInfo = {
      "leaky_relu", "X, or alpha X where X < 0", kReadsX, {{"alpha", 0.02f, "slope for X < 0"}}};
  FLT_FN static auto f(auto x, const auto& p) { return x < 0 ? p.a * x : x; }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    return x < 0 ? p.a * g : x >= 0 ? g : 0;
  }
};

struct Relu6 {
  static constexpr UnaryInfo kInfo = {
      "relu6", "min(max(X, 0), 6)", kReadsOut, {{"threshold", 6.0f, "most"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto above = x < 0 ? 0 : x;
    return above > p.a ? p.a : above;
  }
  FLT_FN static auto df(auto, auto o, auto g, const auto& p) { return o > 0 && o < p.a ? g : 0; }
};

inline constexpr UnaryParam kAlpha = {"alpha", 1.0f, "scale for X < 0"};

struct Elu {
  static constexpr UnaryInfo kInfo = {
      "elu", "X, or alpha (exp(X) - 1) where X < 0", kReadsX, {kAlpha}, kReadsOut};
  FLT_FN static auto f(auto x, const auto& p) { return x > 0 ? x : p.a * (exp_of(x) - 1); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    return x > 0 ? g : g * p.a * exp_of(x);
  }
};

struct Selu {
  static constexpr UnaryInfo kInfo = {
      "selu",
      "scale times X, or times alpha (exp(X) - 1) where X < 0",
      kReadsOut,
      {{"scale", 1.0507009873554804934193349852946f, "scale"},
       {"alpha", 1.6732632423543772848170429916717f, "scale for X < 0"}}};
  FLT_FN static auto f(auto x, const auto& p) { return p.a * (x > 0 ? x : p.b * (exp_of(x) - 1)); }
  FLT_FN static auto df(auto, auto o, auto g, const auto& p) {
    return o > 0 ? g * p.a : g * (o + p.a * p.b);
  }
};

struct Celu {
  static constexpr UnaryInfo kInfo = {
      "celu", "X, or alpha (exp(X / alpha) - 1) where X < 0", kReadsX, {kAlpha}};
  FLT_FN static auto f(auto x, const auto& p) { return x > 0 ? x : p.a * (exp_of(x / p.a) - 1); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    return x > 0 ? g : g * exp_of(x / p.a);
  }
};

struct Gelu {
  static constexpr UnaryInfo kInfo = {"gelu", "X times the share of a normal distribution below X",
                                      kReadsX};
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    return T{0.5} * x * (1 + std::erf(x * (std::numbers::sqrt2_v<T> / 2)));
  }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    const T share = T{0.5} * (1 + std::erf(x * (std::numbers::sqrt2_v<T> / 2)));
    const T density =
        exp_of(T{-0.5} * x * x) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return g * (share + x * density);
  }
};

// The same with tanh instead of the error function (Hendrycks and Gimpel, 2016).
struct GeluTanh {
  static constexpr UnaryInfo kInfo = Gelu::kInfo;
  template <typename T>
  static constexpr T kRoot = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  template <typename T>
  FLT_FN static T inner(T x) {
    return tanh_of(kRoot<T> * (x + T{0.044715} * x * x * x));
  }
  template <typename T>
  FLT_FN static T f(T x, const Params<T>&) {
    return T{0.5} * x * (1 + inner(x));
  }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>&) {
    const T t = inner(x);
    const T slope = kRoot<T> * (1 + T{3 * 0.044715} * x * x);
    return g * T{0.5} * (1 + t + x * (1 - t * t) * slope);
  }
};

struct Swish {
  static constexpr UnaryInfo kInfo = {
      "swish", "X / (1 + exp(-beta X))", kReadsX, {{"beta", 1.0f, "sharpness"}}};
  FLT_FN static auto f(auto x, const auto& p) { return x * sigmoid_of(p.a * x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    const auto s = sigmoid_of(p.a * x);
    return g * (s + p.a * x * s * (1 - s));
  }
};

struct Silu {
  static constexpr UnaryInfo kInfo = {"silu", "X / (1 + exp(-X))", kReadsX, {}, kReadsOut};
  FLT_FN static auto f(auto x, const auto&) { return x * sigmoid_of(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) {
    const auto s = sigmoid_of(x);
    return g * (s + x * s * (1 - s));
  }
};

struct HardSwish {
  static constexpr UnaryInfo kInfo = {"hard_swish",
                                      "X min(max(X + offset, 0), threshold) / scale",
                                      kReadsX,
                                      {{"threshold", 6.0f, "where the line ends"},
                                       {"scale", 6.0f, "divides the line"},
                                       {"offset", 3.0f, "how far below 0 the line begins"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto above = x + p.c > 0 ? x + p.c : 0;
    return x * (above > p.a ? p.a : above) / p.b;
  }
  template <typename T>
  FLT_FN static T df(T x, T, T g, const Params<T>& p) {
    const T above = x + p.c > 0 ? 1 : 0, below = x + p.c < p.a ? 1 : 0;
    return g * (above * (2 * x + p.c) / p.b * below + (1 - below));
  }
};

struct HardSigmoid {
  static constexpr UnaryInfo kInfo = {
      "hard_sigmoid",
      "min(max(slope X + offset, 0), 1)",
      kReadsOut,
      {{"slope", 0.2f, "slope of the line"}, {"offset", 0.5f, "its height at X = 0"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    const auto line = x * p.a + p.b;
    const auto above = line < 0 ? 0 : line;
    return above > 1 ? 1 : above;
  }
  FLT_FN static auto df(auto, auto o, auto g, const auto& p) {
    return o > 0 && o < 1 ? g * p.a : 0;
  }
};

struct HardShrink {
  static constexpr UnaryInfo kInfo = {"hard_shrink",
                                      "X, or 0 where |X| <= threshold",
                                      kReadsX,
                                      {{"threshold", 0.5f, "what is cut"}}};
  FLT_FN static auto f(auto x, const auto& p) { return x * (x > p.a || x < -p.a ? 1 : 0); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) { return x > p.a || x < -p.a ? g : 0; }
};

struct SoftShrink {
  static constexpr UnaryInfo kInfo = {
      "softshrink", "X moved by lambda towards 0", kReadsX, {{"lambda", 0.5f, "how far"}}};
  FLT_FN static auto f(auto x, const auto& p) {
    return (x > p.a ? 1 : 0) * (x - p.a) + (x < -p.a ? 1 : 0) * (x + p.a);
  }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) { return HardShrink::df(x, x, g, p); }
};

struct TanhShrink {
  static constexpr UnaryInfo kInfo = {"tanh_shrink", "X - tanh(X)", kReadsX};
  FLT_FN static auto f(auto x, const auto&) { return x - tanh_of(x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto&) {
    const auto t = tanh_of(x);
    return g * t * t;
  }
};

struct Stanh {
  static constexpr UnaryInfo kInfo = {
      "stanh",
      "scale_b tanh(scale_a X)",
      kReadsX,
      {{"scale_a", 0.67f, "scale of X"}, {"scale_b", 1.7159f, "of the result"}}};
  FLT_FN static auto f(auto x, const auto& p) { return p.b * tanh_of(p.a * x); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    const auto t = tanh_of(p.a * x);
    return g * p.a * p.b * (1 - t * t);
  }
};

struct Mish {
  static constexpr UnaryInfo kInfo = {"mish",
                                      "X tanh(log(1 + exp(X)))",
                                      kReadsX,
                                      {{"threshold", 20.0f, "X above which log(1 + exp(X)) is X"}}};
  FLT_FN static auto inner(auto x, const auto& p) { return tanh_of(x > p.a ? x : softplus_of(x)); }
  FLT_FN static auto f(auto x, const auto& p) { return x * inner(x, p); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) {
    const auto t = inner(x, p);
    return g * (t + x * (1 - t * t) * sigmoid_of(x));
  }
};

struct ThresholdedRelu {
  static constexpr UnaryInfo kInfo = {"thresholded_relu",
                                      "X, or 0 where X <= threshold",
                                      kReadsX,
                                      {{"threshold", 1.0f, "what X must exceed"}}};
  FLT_FN static auto f(auto x, const auto& p) { return x * (x > p.a ? 1 : 0); }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) { return x > p.a ? g : 0; }
};

// x, but at least a and at most b: clip and brelu, which differ in words only.
struct Between {
  FLT_FN static auto f(auto x, const auto& p) {
    const auto above = x < p.a ? p.a : x;
    return above > p.b ? p.b : above;
  }
  FLT_FN static auto df(auto x, auto, auto g, const auto& p) { return x > p.a && x < p.b ? g : 0; }
};

struct BRelu : Between {
  static constexpr UnaryInfo kInfo = {"brelu",
                                      "min(max(X, t_min), t_max)",
                                      kReadsX,
                                      {{"t_min", 0.0f, "least"}, {"t_max", 24.0f, "most"}}};
};

// All but gelu, which is one operator in two forms.
using Activations = Types<Relu, Tanh, Sigmoid, Softplus, SoftRelu, LogSigmoid, Softsign, LeakyRelu,
                          Relu6, Elu, Selu, Celu, Swish, Silu, HardSwish, HardSigmoid, HardShrink,
                          SoftShrink, TanhShrink, Stanh, Mish, ThresholdedRelu, BRelu>;

}  // namespace flotilla::ops::unary
