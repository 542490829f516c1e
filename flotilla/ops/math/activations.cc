// flotilla/ops/math/activations.cc
//
// The activation functions of layers. One type for each; define_unary (unary.h) makes operators of
// them. What becomes of NaN and infinities is Paddle's choice, formula by formula: a factor of 0 or
// 1 in the place of a condition lets them through.

#include <numbers>

#include "flotilla/op/spell_out.h"
#include "flotilla/ops/math/unary.h"

namespace flotilla::ops {
namespace {

struct Relu {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x > 0 ? x : T{0};
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return o > 0 ? g : T{0};
  }
};

struct Tanh {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return tanh_of(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return g * (T{1} - o * o);
  }
};

struct Sigmoid {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return sigmoid_of(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return g * o * (T{1} - o);
  }
};

// log(1 + exp(x)) without overflow.
template <typename T>
T softplus_of(T x) {
  const T magnitude = x < 0 ? -x : x;
  return (x > 0 ? x : T{0}) + std::log1p(exp_of(-magnitude));
}

struct Softplus {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"beta", "threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T scaled = x * p.a;
    return scaled > p.b ? x : softplus_of(scaled) / p.a;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    const T scaled = x * p.a;
    return scaled > p.b ? g : g * sigmoid_of(scaled);
  }
};

// The derivative follows Paddle's, which sees the result alone: none where that is beyond the
// threshold, and that of the bound where X lies below it.
struct SoftRelu {
  static constexpr int kReads = kReadsOut;
  static constexpr Names kNames = {"threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T above = x < -p.a ? -p.a : x;
    return softplus_of(above > p.a ? p.a : above);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>& p) {
    return o > -p.a && o < p.a ? -g * std::expm1(-o) : T{0};
  }
};

struct LogSigmoid {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return -softplus_of(-x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g * sigmoid_of(-x);
  }
};

struct Softsign {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x / (T{1} + (x < 0 ? -x : x));
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T scale = T{1} + (x < 0 ? -x : x);
    return g / (scale * scale);
  }
};

struct LeakyRelu {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"alpha"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x < 0 ? p.a * x : x;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x < 0 ? p.a * g : x >= 0 ? g : T{0};
  }
};

struct Relu6 {
  static constexpr int kReads = kReadsOut;
  static constexpr Names kNames = {"threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T above = x < 0 ? T{0} : x;
    return above > p.a ? p.a : above;
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>& p) {
    return o > 0 && o < p.a ? g : T{0};
  }
};

struct Elu {
  static constexpr int kReads = kReadsX;
  static constexpr int kEmits = kReadsX | kReadsOut;
  static constexpr Names kNames = {"alpha"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x > 0 ? x : p.a * (exp_of(x) - T{1});
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > 0 ? g : g * p.a * exp_of(x);
  }
};

struct Selu {
  static constexpr int kReads = kReadsOut;
  static constexpr Names kNames = {"scale", "alpha"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return p.a * (x > 0 ? x : p.b * (exp_of(x) - T{1}));
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>& p) {
    return o > 0 ? g * p.a : g * (o + p.a * p.b);
  }
};

struct Celu {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"alpha"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x > 0 ? x : p.a * (exp_of(x / p.a) - T{1});
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > 0 ? g : g * exp_of(x / p.a);
  }
};

struct Gelu {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return T{0.5} * x * (T{1} + std::erf(x * (std::numbers::sqrt2_v<T> / T{2})));
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T share = T{0.5} * (T{1} + std::erf(x * (std::numbers::sqrt2_v<T> / T{2})));
    const T density =
        exp_of(T{-0.5} * x * x) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return g * (share + x * density);
  }
};

// The same with tanh instead of the error function (Hendrycks and Gimpel, 2016).
struct GeluTanh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static constexpr T kRoot = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  template <typename T>
  static T inner(T x) {
    return tanh_of(kRoot<T> * (x + T{0.044715} * x * x * x));
  }
  template <typename T>
  static T f(T x, const Params<T>&) {
    return T{0.5} * x * (T{1} + inner(x));
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T t = inner(x);
    const T slope = kRoot<T> * (T{1} + T{3 * 0.044715} * x * x);
    return g * T{0.5} * (T{1} + t + x * (T{1} - t * t) * slope);
  }
};

struct Swish {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"beta"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x * sigmoid_of(p.a * x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    const T s = sigmoid_of(p.a * x);
    return g * (s + p.a * x * s * (T{1} - s));
  }
};

struct Silu {
  static constexpr int kReads = kReadsX;
  static constexpr int kEmits = kReadsX | kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x * sigmoid_of(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T s = sigmoid_of(x);
    return g * (s + x * s * (T{1} - s));
  }
};

struct HardSwish {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"threshold", "scale", "offset"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T above = x + p.c > 0 ? x + p.c : T{0};
    return x * (above > p.a ? p.a : above) / p.b;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    const T above = x + p.c > 0 ? T{1} : T{0}, below = x + p.c < p.a ? T{1} : T{0};
    return g * (above * (T{2} * x + p.c) / p.b * below + (T{1} - below));
  }
};

struct HardSigmoid {
  static constexpr int kReads = kReadsOut;
  static constexpr Names kNames = {"slope", "offset"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T line = x * p.a + p.b;
    const T above = line < 0 ? T{0} : line;
    return above > 1 ? T{1} : above;
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>& p) {
    return o > 0 && o < 1 ? g * p.a : T{0};
  }
};

struct HardShrink {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x * (x > p.a || x < -p.a ? T{1} : T{0});
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > p.a || x < -p.a ? g : T{0};
  }
};

struct SoftShrink {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"lambda"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return (x > p.a ? T{1} : T{0}) * (x - p.a) + (x < -p.a ? T{1} : T{0}) * (x + p.a);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > p.a || x < -p.a ? g : T{0};
  }
};

struct TanhShrink {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x - tanh_of(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T t = tanh_of(x);
    return g * t * t;
  }
};

struct Stanh {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"scale_a", "scale_b"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return p.b * tanh_of(p.a * x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    const T t = tanh_of(p.a * x);
    return g * p.a * p.b * (T{1} - t * t);
  }
};

struct Mish {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x * tanh_of(x > p.a ? x : softplus_of(x));
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    const T t = tanh_of(x > p.a ? x : softplus_of(x));
    return g * (t + x * (T{1} - t * t) * sigmoid_of(x));
  }
};

struct ThresholdedRelu {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"threshold"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    return x * (x > p.a ? T{1} : T{0});
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x > p.a ? g : T{0};
  }
};

struct BRelu : Between {
  static constexpr Names kNames = {"t_min", "t_max"};
};

// gelu is one operator in two forms.
constexpr auto gelu_forward = []<typename T>(PrepareContext& c) -> Step {
  return c.attr<bool>("approximate") ? unary_forward<GeluTanh, T>(c) : unary_forward<Gelu, T>(c);
};
constexpr auto gelu_backward = []<typename T>(PrepareContext& c) -> Step {
  return c.attr<bool>("approximate") ? unary_backward<GeluTanh, T>(c) : unary_backward<Gelu, T>(c);
};

const OpDef& gelu = define_op({
    .type = "gelu",
    .doc = "Out = X times the share of a normal distribution below X.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .attrs = {{"approximate", false, "by tanh instead of the error function"}},
    .infer = infer_unary,
    .grad = grad_op({"X"}, {.kernels = kernels_for<float, double>(gelu_backward)}),
    .kernels = kernels_for<float, double>(gelu_forward),
});

const bool kDefined = [] {
  const AttrSpec alpha = {"alpha", 1.0f, "scale for X < 0"};
  define_unary<Relu>({"relu", "max(X, 0)"});
  define_unary<Tanh>({"tanh", "tanh(X)"});
  define_unary<Sigmoid>({"sigmoid", "1 / (1 + exp(-X))"});
  define_unary<Softplus>({"softplus",
                          "log(1 + exp(beta X)) / beta",
                          {{"beta", 1.0f, "sharpness of the bend"},
                           {"threshold", 20.0f, "beta X above which Out is X"}}});
  define_unary<SoftRelu>({"soft_relu",
                          "log(1 + exp(min(max(X, -threshold), threshold)))",
                          {{"threshold", 40.0f, "how far from 0 X may be"}}});
  define_unary<LogSigmoid>({"logsigmoid", "log(1 / (1 + exp(-X)))"});
  define_unary<Softsign>({"softsign", "X / (1 + |X|)"});
  define_unary<LeakyRelu>({.type = "leaky_relu",
                           .formula = "X, or alpha X where X < 0",
                           .attrs = {{"alpha", 0.02f, "slope for X < 0"}},
                           .spell_out_grad = [](Block& block, size_t i) {
                             add_output_of_forward(block, i, "X", "Out");
                           }});
  define_unary<Relu6>({"relu6", "min(max(X, 0), 6)", {{"threshold", 6.0f, "most"}}});
  define_unary<Elu>({"elu", "X, or alpha (exp(X) - 1) where X < 0", {alpha}});
  define_unary<Selu>({"selu",
                      "scale times X, or times alpha (exp(X) - 1) where X < 0",
                      {{"scale", 1.0507009873554804934193349852946f, "scale"},
                       {"alpha", 1.6732632423543772848170429916717f, "scale for X < 0"}}});
  define_unary<Celu>({"celu", "X, or alpha (exp(X / alpha) - 1) where X < 0", {alpha}});
  define_unary<Swish>({"swish", "X / (1 + exp(-beta X))", {{"beta", 1.0f, "sharpness"}}});
  define_unary<Silu>({"silu", "X / (1 + exp(-X))"});
  define_unary<HardSwish>({"hard_swish",
                           "X min(max(X + offset, 0), threshold) / scale",
                           {{"threshold", 6.0f, "where the line ends"},
                            {"scale", 6.0f, "divides the line"},
                            {"offset", 3.0f, "how far below 0 the line begins"}}});
  define_unary<HardSigmoid>(
      {"hard_sigmoid",
       "min(max(slope X + offset, 0), 1)",
       {{"slope", 0.2f, "slope of the line"}, {"offset", 0.5f, "its height at X = 0"}}});
  define_unary<HardShrink>(
      {"hard_shrink", "X, or 0 where |X| <= threshold", {{"threshold", 0.5f, "what is cut"}}});
  define_unary<SoftShrink>(
      {"softshrink", "X moved by lambda towards 0", {{"lambda", 0.5f, "how far"}}});
  define_unary<TanhShrink>({"tanh_shrink", "X - tanh(X)"});
  define_unary<Stanh>({"stanh",
                       "scale_b tanh(scale_a X)",
                       {{"scale_a", 0.67f, "scale of X"}, {"scale_b", 1.7159f, "of the result"}}});
  define_unary<Mish>({"mish",
                      "X tanh(log(1 + exp(X)))",
                      {{"threshold", 20.0f, "X above which log(1 + exp(X)) is X"}}});
  define_unary<ThresholdedRelu>({"thresholded_relu",
                                 "X, or 0 where X <= threshold",
                                 {{"threshold", 1.0f, "what X must exceed"}}});
  define_unary<BRelu>(
      {"brelu", "min(max(X, t_min), t_max)", {{"t_min", 0.0f, "least"}, {"t_max", 24.0f, "most"}}});
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
