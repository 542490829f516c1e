// flotilla/ops/math/elementwise.cc
//
// The arithmetic of two tensors: elementwise_add, _sub, _mul, _div, _max, _min, _fmax, _fmin, _pow,
// _heaviside, _mod and _floordiv, with Paddle's broadcasting. Each operator is a type: what it
// computes, and the derivatives towards X and Y given the gradient g of the result o.

#include "flotilla/ops/math/elementwise.h"

#include <cmath>

#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

// What a derivative reads besides the gradient of the result.
enum Reads { kNothing = 0, kX = 1, kY = 2, kOut = 4 };

[[noreturn, gnu::noinline]] void divided_by_zero() {
  refuse("Y holds a zero, and integers cannot be divided by it");
}

template <typename T>
T divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) [[unlikely]]
      divided_by_zero();
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  }
  return x / y;
}

// With the sign of the divisor, as in Python.
template <typename T>
T modulo(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) [[unlikely]]
      divided_by_zero();
    if (y == -1) return 0;
    const T rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    const T rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
}

template <typename T>
T floor_divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = divide(x, y);
    return quotient * y != x && (x < 0) != (y < 0) ? quotient - 1 : quotient;
  } else {
    return std::floor(x / y);
  }
}

template <typename T>
T power(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::llrint(std::pow(static_cast<double>(x), static_cast<double>(y))));
  } else {
    return std::pow(x, y);
  }
}

// kDxFactor: dX is this many times g, whatever X and Y are; 0: it is not that simple.
struct Add {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 1, kDyFactor = 1;
  static constexpr int kDxReads = kNothing, kDyReads = kNothing;
  template <typename T>
  static T f(T x, T y) {
    return x + y;
  }
  template <typename T>
  static T dx(T, T, T, T g) {
    return g;
  }
  template <typename T>
  static T dy(T, T, T, T g) {
    return g;
  }
};

struct Sub {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 1, kDyFactor = -1;
  static constexpr int kDxReads = kNothing, kDyReads = kNothing;
  template <typename T>
  static T f(T x, T y) {
    return x - y;
  }
  template <typename T>
  static T dx(T, T, T, T g) {
    return g;
  }
  template <typename T>
  static T dy(T, T, T, T g) {
    return -g;
  }
};

struct Mul {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kY, kDyReads = kX;
  template <typename T>
  static T f(T x, T y) {
    return static_cast<T>(x * y);
  }
  template <typename T>
  static T dx(T, T y, T, T g) {
    return g * y;
  }
  template <typename T>
  static T dy(T x, T, T, T g) {
    return g * x;
  }
};

struct Div {
  static constexpr bool kKeepsZero = false;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kY, kDyReads = kY | kOut;
  template <typename T>
  static T f(T x, T y) {
    return divide(x, y);
  }
  template <typename T>
  static T dx(T, T y, T, T g) {
    return g / y;
  }
  template <typename T>
  static T dy(T, T y, T o, T g) {
    return -g * o / y;
  }
};

struct Max {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kX | kY, kDyReads = kX | kY;
  template <typename T>
  static T f(T x, T y) {
    return x > y ? x : y;
  }
  // Where both are equal, Y gets the gradient; where one is NaN, neither.
  template <typename T>
  static T dx(T x, T y, T, T g) {
    return x > y ? g : T{0};
  }
  template <typename T>
  static T dy(T x, T y, T, T g) {
    return x <= y ? g : T{0};
  }
};

struct Min {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kX | kY, kDyReads = kX | kY;
  template <typename T>
  static T f(T x, T y) {
    return x < y ? x : y;
  }
  template <typename T>
  static T dx(T x, T y, T, T g) {
    return x < y ? g : T{0};
  }
  template <typename T>
  static T dy(T x, T y, T, T g) {
    return x >= y ? g : T{0};
  }
};

// The other one where one is not a number. Where both are equal, X gets the gradient.
template <bool kLarger>
struct NumberExtreme {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kX | kY, kDyReads = kX | kY;
  template <typename T>
  static bool takes_x(T x, T y) {
    return (kLarger ? x >= y : x <= y) || y != y;
  }
  template <typename T>
  static T f(T x, T y) {
    return takes_x(x, y) ? x : y;
  }
  template <typename T>
  static T dx(T x, T y, T, T g) {
    return takes_x(x, y) ? g : T{0};
  }
  template <typename T>
  static T dy(T x, T y, T, T g) {
    return takes_x(x, y) ? T{0} : g;
  }
};

struct Pow {
  static constexpr bool kKeepsZero = false;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kX | kY, kDyReads = kX | kY;
  template <typename T>
  static T f(T x, T y) {
    return power(x, y);
  }
  template <typename T>
  static T dx(T x, T y, T, T g) {
    return g * y * std::pow(x, y - T{1});
  }
  template <typename T>
  static T dy(T x, T y, T, T g) {
    return g * std::log(x) * std::pow(x, y);
  }
};

// 0 below zero, Y at zero, 1 above.
struct Heaviside {
  static constexpr bool kKeepsZero = true;
  static constexpr int kDxFactor = 0, kDyFactor = 0;
  static constexpr int kDxReads = kNothing, kDyReads = kX;
  template <typename T>
  static T f(T x, T y) {
    return x == 0 ? y : static_cast<T>(x > 0);
  }
  template <typename T>
  static T dx(T, T, T, T) {
    return T{0};
  }
  template <typename T>
  static T dy(T x, T, T, T g) {
    return x == 0 ? g : T{0};
  }
};

struct Mod {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static T f(T x, T y) {
    return modulo(x, y);
  }
};

struct FloorDiv {
  static constexpr bool kKeepsZero = false;
  template <typename T>
  static T f(T x, T y) {
    return floor_divide(x, y);
  }
};

// ---- Shapes -------------------------------------------------------------------------------------

// Known extents are worked out with the operator itself; where it would divide by zero, nothing is
// known.
template <typename F>
int64_t whole(int64_t x, int64_t y) {
  const bool divides =
      std::is_same_v<F, Div> || std::is_same_v<F, Mod> || std::is_same_v<F, FloorDiv>;
  return divides && y == 0 ? 0 : F::f(x, y);
}

template <typename F>
void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.dtype == y.dtype, "X and Y must have one dtype, but X holds {} and Y holds {}", x.dtype,
          y.dtype);
  VarMeta out = like(x, broadcast(x.shape, y.shape, c.attr<int64_t>("axis")));
  remember_binary(out, x, y, whole<F>);
  c.out("Out") = std::move(out);
}

// ---- Forward ------------------------------------------------------------------------------------

// Sparse rows times (or divided by) one number: what clipping does to the gradient of an embedding.
template <typename F, typename T>
Step sparse_forward(PrepareContext& c) {
  require(c.shape("Y").numel() == 1, "sparse rows meet one number only, but Y has shape {}",
          c.shape("Y"));
  return [x = c.sparse_in<T>("X"), y = c.in<T>("Y"), out = c.sparse_out<T>("Out")] {
    copy_bytes(out.rows.data(), x.rows.data(), x.count * static_cast<int64_t>(sizeof(int64_t)));
    const T *from = x.value.data(), *by = y.data();
    T* to = out.value.data();
    const int64_t n = x.count * x.width;
    simd([=] { apply_rows<F>(from, by, to, 1, n, {0, 1, 0, 0}); });
  };
}

template <typename F, typename T>
Step forward(PrepareContext& c) {
  if (c.is_sparse("X")) return sparse_forward<F, T>(c);
  return binary_step<F, T, T>(c);
}

// ---- Backward -----------------------------------------------------------------------------------

// The derivative towards one side, as an operation on (x, y, o, g).
template <typename F, bool kOfX>
struct Side {
  static constexpr int kFactor = kOfX ? F::kDxFactor : F::kDyFactor;
  static constexpr int kReads = kOfX ? F::kDxReads : F::kDyReads;
  template <typename T>
  static T f(T x, T y, T o, T g) {
    if constexpr (kOfX) return F::template dx<T>(x, y, o, g);
    return F::template dy<T>(x, y, o, g);
  }
};

// What a side writes to: its gradient, or a row with room for padding that is copied there.
template <typename T>
class FoldTarget {
 public:
  FoldTarget(PrepareContext& c, std::string_view slot, const BinaryPlan& plan, const Shape& extents)
      : out_(c.out<T>(slot)), numel_(extents.numel()) {
    if (plan.padded()) row_ = c.workspace<T>(padded_numel(plan, extents));
  }
  T* data() const { return row_ ? row_.data() : out_.data(); }
  void finish() const {
    if (row_) std::copy_n(row_.data(), numel_, out_.data());
  }

 private:
  Out<T> out_, row_;
  int64_t numel_ = 0;
};

// dX = fold(factor * g): the side is repeated, and its derivative is as simple as that.
template <typename T>
Step fold_side(PrepareContext& c, std::string_view slot, const BinaryPlan& plan,
               const Shape& extents, int factor) {
  const FoldPlan fold(plan.out, plan.layout, extents);
  return [fold, factor = static_cast<T>(factor), target = FoldTarget<T>(c, slot, plan, extents),
          dout = c.in<T>("Out@GRAD", 0, plan.layout), work = c.workspace<T>(fold.workspace())] {
    fold.run<SumFold>(dout.data(), target.data(), work.data(), [=](T sum) { return factor * sum; });
    target.finish();
  };
}

// to = Side::f(x, y, o, g) in the shape of the result.
template <typename Side, typename T>
class Derivative {
 public:
  Derivative(PrepareContext& c, const BinaryPlan& plan)
      : walk_(plan.walk()), dout_(c.in<T>("Out@GRAD", 0, plan.layout)) {
    if (Side::kReads & kX) x_ = WalkOperand<T>(c, "X", plan, plan.x);
    if (Side::kReads & kY) y_ = WalkOperand<T>(c, "Y", plan, plan.y);
    if (Side::kReads & kOut) out_ = c.in<T>("Out", 0, plan.layout);
  }

  void run(T* to) const {
    const T* g = dout_.data();
    const T* o = out_ ? out_.data() : g;
    const T *x = x_.data(), *y = y_.data();
    BlockStrides strides = strides_of(walk_);
    // What is not read stands still at a place that is there.
    if (x == nullptr) strides.x_row = 0, strides.x_column = 1;
    if (y == nullptr) strides.y_row = 0, strides.y_column = 1;
    walk_.run([=](const WalkBlock& b) {
      const T* from_x = x == nullptr ? g + b.out : x + b.x;
      const T* from_y = y == nullptr ? g + b.out : y + b.y;
      simd([=] {
        apply_grad_rows<Side>(from_x, from_y, o + b.out, g + b.out, to + b.out, b.rows, b.columns,
                              strides);
      });
    });
  }

 private:
  Walk walk_;
  WalkOperand<T> x_, y_;
  In<T> out_, dout_;
};

template <typename Side, typename T>
Step backward_side(PrepareContext& c, std::string_view slot, const BinaryPlan& plan,
                   const Shape& extents, bool last) {
  const bool repeated = !(extents == plan.out);
  if constexpr (Side::kFactor == 1) {
    if (!repeated) return pass_through(c, "Out@GRAD", slot, plan.layout);
  }
  if constexpr (Side::kFactor != 0) {
    if (repeated) return fold_side<T>(c, slot, plan, extents, Side::kFactor);
  }
  if (!repeated) {
    if (last) c.in_place("Out@GRAD", slot);
    return [side = Derivative<Side, T>(c, plan), to = c.out<T>(slot, 0, plan.layout)] {
      side.run(to.data());
    };
  }
  const FoldPlan fold(plan.out, plan.layout, extents);
  return [fold, side = Derivative<Side, T>(c, plan), target = FoldTarget<T>(c, slot, plan, extents),
          whole = c.workspace<T>(plan.layout.physical_numel(plan.out)),
          work = c.workspace<T>(fold.workspace())] {
    side.run(whole.data());
    fold.run<SumFold>(whole.data(), target.data(), work.data(), [](T sum) { return sum; });
    target.finish();
  };
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  const BinaryPlan plan =
      plan_binary(c, c.shape("Out@GRAD"), {"Out@GRAD", "X", "Y"}, F::kKeepsZero);
  const bool wants_x = c.has("X@GRAD"), wants_y = c.has("Y@GRAD");
  // The side that comes last may overwrite the gradient of the result: one that is not repeated.
  const bool x_last = !plan.x_repeated();
  Step x_step, y_step;
  if (wants_x)
    x_step = backward_side<Side<F, true>, T>(c, "X@GRAD", plan, plan.x, x_last || !wants_y);
  if (wants_y)
    y_step = backward_side<Side<F, false>, T>(c, "Y@GRAD", plan, plan.y, !x_last || !wants_x);
  if (!wants_x) return y_step;
  if (!wants_y) return x_step;
  return [first = x_last ? y_step : x_step, second = x_last ? x_step : y_step] {
    first();
    second();
  };
}

// ---- Definitions --------------------------------------------------------------------------------

template <typename F>
GradRule gradient() {
  constexpr int kReads = F::kDxReads | F::kDyReads;
  std::vector<Use> uses = {kReads & kX ? Use("X") : shape_of("X"),
                           kReads & kY ? Use("Y") : shape_of("Y")};
  if (kReads & kOut) uses.push_back("Out");
  return grad_op(std::move(uses),
                 {.kernels = kernels_for<float, double>(
                      []<typename T>(PrepareContext& c) { return backward<F, T>(c); }),
                  .inputs = {{.name = "Out",
                              .doc = "result of the op",
                              .optional = true,
                              .shape_only = !(kReads & kOut)}}});
}

template <typename F>
void define(std::string type, const std::string& formula) {
  OpDef def{
      .type = std::move(type),
      .doc = "Out = " + formula + ", element by element; Y is repeated where X is larger.",
      .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor of the same dtype"}},
      .outputs = {{.name = "Out", .doc = "of the common shape"}},
      .attrs = {{"axis", int32_t{-1},
                 "where Y's first axis stands among those of X; -1: the last ones align"},
                {"x_data_format", std::string(), "of programs of 1.8; not used"},
                {"y_data_format", std::string(), "of programs of 1.8; not used"},
                {"Scale_x", 1.0f, "of quantized programs; not used"},
                {"Scale_y", 1.0f, "of quantized programs; not used"},
                {"Scale_out", 1.0f, "of quantized programs; not used"}},
      .infer = infer<F>,
      .kernels = kernels_for<float, double, int32_t, int64_t>(
          []<typename T>(PrepareContext& c) { return forward<F, T>(c); })};
  if constexpr (requires { F::kDxReads; }) def.grad = gradient<F>();
  if constexpr (std::is_same_v<F, Mul>)
    def.kernels.push_back({kCpu, boolean, binary_step<F, bool, bool>});
  define_op(std::move(def));
}

const bool kDefined = [] {
  define<Add>("elementwise_add", "X + Y");
  define<Sub>("elementwise_sub", "X - Y");
  define<Mul>("elementwise_mul", "X * Y");
  define<Div>("elementwise_div", "X / Y");
  define<Max>("elementwise_max", "the larger of X and Y");
  define<Min>("elementwise_min", "the smaller of X and Y");
  define<NumberExtreme<true>>("elementwise_fmax", "the larger number of X and Y");
  define<NumberExtreme<false>>("elementwise_fmin", "the smaller number of X and Y");
  define<Pow>("elementwise_pow", "X to the power of Y");
  define<Heaviside>("elementwise_heaviside", "0 where X < 0, Y where X = 0, 1 where X > 0");
  define<Mod>("elementwise_mod", "the rest of X / Y, with the sign of Y");
  define<FloorDiv>("elementwise_floordiv", "X / Y rounded down");
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
