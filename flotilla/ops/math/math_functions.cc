// flotilla/ops/math/math_functions.cc
//
// The functions of a pocket calculator: powers, roots, exponentials, logarithms, trigonometry,
// rounding. One type for each; define_unary (unary.h) makes operators of them.

#include <concepts>
#include <numbers>

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/math/unary.h"
#include "flotilla/ops/tensor/merge_rows.h"

namespace flotilla::ops {
namespace {

struct Square {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x * x;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return T{2} * g * x;
  }
};

struct Abs {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x < 0 ? -x : x;
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return x > 0 ? g : x < 0 ? -g : T{0};
  }
};

struct Sqrt {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::sqrt(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return T{0.5} * g / o;
  }
};

struct Rsqrt {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return T{1} / std::sqrt(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return T{-0.5} * g * o * o * o;
  }
};

struct Reciprocal {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return T{1} / x;
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return -g * o * o;
  }
};

struct Exp {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return exp_of(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return g * o;
  }
};

struct Expm1 {
  static constexpr int kReads = kReadsOut;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::expm1(x);
  }
  template <typename T>
  static T df(T, T o, T g, const Params<T>&) {
    return g * (o + T{1});
  }
};

struct Log {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return log_of(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / x;
  }
};

struct Log2 {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::log2(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / (x * std::numbers::ln2_v<T>);
  }
};

struct Log10 {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::log10(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / (x * std::numbers::ln10_v<T>);
  }
};

struct Log1p {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::log1p(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / (T{1} + x);
  }
};

struct Sin {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::sin(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g * std::cos(x);
  }
};

struct Cos {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::cos(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return -g * std::sin(x);
  }
};

struct Tan {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::tan(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    const T cosine = std::cos(x);
    return g / (cosine * cosine);
  }
};

struct Asin {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::asin(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / std::sqrt(T{1} - x * x);
  }
};

struct Acos {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::acos(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return -g / std::sqrt(T{1} - x * x);
  }
};

struct Atan {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::atan(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / (T{1} + x * x);
  }
};

struct Sinh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::sinh(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g * std::cosh(x);
  }
};

struct Cosh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::cosh(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g * std::sinh(x);
  }
};

struct Asinh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::asinh(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / std::sqrt(x * x + T{1});
  }
};

struct Acosh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::acosh(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / std::sqrt(x * x - T{1});
  }
};

struct Atanh {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::atanh(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g / (T{1} - x * x);
  }
};

struct Erf {
  static constexpr int kReads = kReadsX;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::erf(x);
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>&) {
    return g * T{2} * std::numbers::inv_sqrtpi_v<T> * exp_of(-x * x);
  }
};

// What jumps has no slope anywhere else.
struct Floor {
  static constexpr int kReads = kReadsNothing;
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::floor(x);
  }
  template <typename T>
  static T df(T, T, T, const Params<T>&) {
    return T{0};
  }
};

struct Trunc : Floor {
  template <typename T>
  static T f(T x, const Params<T>&) {
    if constexpr (std::is_integral_v<T>) return x;
    return std::trunc(x);
  }
};
struct Logit {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"eps"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    const T above = x < p.a ? p.a : x;
    const T kept = above > 1 - p.a ? 1 - p.a : above;
    return log_of(p.a > 0 ? kept / (1 - kept) : x / (1 - x));
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return x < p.a || x > 1 - p.a ? T{0} : g / (x * (1 - x));
  }
};
struct Ceil : Floor {
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::ceil(x);
  }
};

// Halves go away from zero.
struct Round : Floor {
  template <typename T>
  static T f(T x, const Params<T>&) {
    return std::round(x);
  }
};

struct Pow {
  static constexpr int kReads = kReadsX;
  static constexpr Names kNames = {"factor"};
  static constexpr Names kTensors = {"FactorTensor"};
  template <typename T>
  static T f(T x, const Params<T>& p) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(
          std::llrint(std::pow(static_cast<double>(x), static_cast<double>(p.a))));
    } else {
      return std::pow(x, p.a);
    }
  }
  template <typename T>
  static T df(T x, T, T g, const Params<T>& p) {
    return g * p.a * std::pow(x, p.a - T{1});
  }
};

struct Clip : Between {
  static constexpr Names kNames = {"min", "max"};
  static constexpr Names kTensors = {"Min", "Max"};

  // Rows that repeat add up before they are compared.
  template <std::floating_point T>
  static Step sparse_forward(PrepareContext& c) {
    const SparseIn<T> x = c.sparse_in<T>("X");
    return [x, params = ParamSource<Clip, T>(c), out = c.sparse_out<T>("Out"),
            order = c.workspace<int64_t>(x.count)] {
      const int64_t sums = merge_rows(x, out, order.data());
      const Params<T> p = params.get();
      T* values = out.value.data();
      for (int64_t i = 0; i < sums * x.width; ++i) values[i] = f(values[i], p);
    };
  }
};

Slot parameter(std::string name) {
  return {.name = std::move(name),
          .doc = "one element, instead of the attribute",
          .optional = true,
          .no_grad = true,
          .one = true};
}

// sign has no gradient op of its own: its gradient is zero times that of the result.
struct Sign {
  template <typename T>
  static T f(T x, const Params<T>&) {
    return x == x ? static_cast<T>((x > 0) - (x < 0)) : x;
  }
};

void sign_grad(GradContext& g) {
  const std::string dout = g.output_grad("Out"), dx = g.input_grad("X");
  if (dx.empty()) return;
  g.emit("scale", {{"X", {dout}}}, {{"Out", {dx}}},
         {{"scale", 0.0f}, {"bias", 0.0f}, {"bias_after_scale", true}});
}

const OpDef& sign = define_op({
    .type = "sign",
    .doc = "Out = -1, 0 or 1, as X is less than, equal to or greater than 0.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_unary,
    .grad = custom_grad(sign_grad),
    .kernels = kernels_for<float, double, int32_t, int64_t>(
        []<typename T>(PrepareContext& c) { return unary_forward<Sign, T>(c); }),
});

const bool kDefined = [] {
  define_unary<Square, int32_t, int64_t>({"square", "X * X"});
  define_unary<Abs, int32_t, int64_t>({"abs", "|X|"});
  define_unary<Sqrt>({"sqrt", "the square root of X"});
  define_unary<Rsqrt>({"rsqrt", "1 / the square root of X"});
  define_unary<Reciprocal>({"reciprocal", "1 / X"});
  define_unary<Exp>({"exp", "e to the power of X"});
  define_unary<Expm1>({"expm1", "exp(X) - 1, exact near 0"});
  define_unary<Log>({"log", "the natural logarithm of X"});
  define_unary<Log2>({"log2", "the logarithm of X to the base 2"});
  define_unary<Log10>({"log10", "the logarithm of X to the base 10"});
  define_unary<Log1p>({"log1p", "log(1 + X), exact near 0"});
  define_unary<Sin>({"sin", "sin(X)"});
  define_unary<Cos>({"cos", "cos(X)"});
  define_unary<Tan>({"tan", "tan(X)"});
  define_unary<Asin>({"asin", "asin(X)"});
  define_unary<Acos>({"acos", "acos(X)"});
  define_unary<Atan>({"atan", "atan(X)"});
  define_unary<Sinh>({"sinh", "sinh(X)"});
  define_unary<Cosh>({"cosh", "cosh(X)"});
  define_unary<Asinh>({"asinh", "asinh(X)"});
  define_unary<Acosh>({"acosh", "acosh(X)"});
  define_unary<Atanh>({"atanh", "atanh(X)"});
  define_unary<Erf>({"erf", "the error function of X"});
  define_unary<Floor>({"floor", "X rounded down"});
  define_unary<Trunc, int32_t, int64_t>({"trunc", "X rounded towards 0"});
  define_unary<Logit>({"logit",
                       "log(X / (1 - X)), with X kept between eps and 1 - eps",
                       {{"eps", 1e-6f, "how near 0 and 1 X may be; 0: as near as it is"}}});
  define_unary<Ceil>({"ceil", "X rounded up"});
  define_unary<Round>({"round", "X rounded to the nearest whole number"});
  define_unary<Pow, int32_t, int64_t>({"pow",
                                       "X to the power of `factor`",
                                       {{"factor", 1.0f, "the exponent"}},
                                       {parameter("FactorTensor")}});
  define_unary<Clip, int32_t, int64_t>({"clip",
                                        "X, but at least `min` and at most `max`",
                                        {{"min", 0.0f, "least value"}, {"max", 1.0f, "most"}},
                                        {parameter("Min"), parameter("Max")}});
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
