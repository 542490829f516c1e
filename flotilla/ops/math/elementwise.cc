// flotilla/ops/math/elementwise.cc
//
// The arithmetic of two tensors: elementwise_add, _sub, _mul, _div, _max, _min, _fmax, _fmin, _pow,
// _heaviside, _mod and _floordiv, with Paddle's broadcasting. Their formulas are in
// ops/common/binary_formulas.h.

#include "flotilla/ops/math/elementwise.h"

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/reduce_engine.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

using binary::kOut, binary::kX, binary::kY;

// ---- Shapes -------------------------------------------------------------------------------------

// Known extents are worked out with the operator itself; where it would divide by zero, nothing is
// known.
template <typename F>
int64_t whole(int64_t x, int64_t y) {
  return binary::divides<F> && y == 0 ? 0 : F::f(x, y);
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

// The axis along which an operand moves, if there is one at most; -1 where there are more.
int64_t moving_axis(const Shape& operand) {
  int64_t found = 0;
  int64_t moving = 0;
  for (int64_t a = 0; a < operand.rank(); ++a) {
    if (operand[a] == 1) continue;
    found = a;
    ++moving;
  }
  return moving <= 1 ? found : -1;
}

bool may_pad(const Shape& operand, const Shape& out) {
  return operand == out || moving_axis(operand) >= 0;
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
    apply_block<F>(from, by, to, 1, n, {0, 1, 0, 0});
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
  static constexpr int kFactor = kOfX ? F::kInfo.dx_factor : F::kInfo.dy_factor;
  static constexpr int kReads = kOfX ? F::kInfo.dx_reads : F::kInfo.dy_reads;
  FLT_FN static auto f(auto x, auto y, auto o, auto g) {
    if constexpr (kOfX) {
      return F::dx(x, y, o, g);
    } else {
      return F::dy(x, y, o, g);
    }
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

// One type for all sides: each type of a fold's end is another set of loops.
template <typename C>
struct Times {
  C factor = 1;
  C operator()(C sum) const { return factor * sum; }
};

// dX = fold(factor * g): the side is repeated, and its derivative is as simple as that.
template <typename T>
Step fold_side(PrepareContext& c, std::string_view slot, const BinaryPlan& plan,
               const Shape& extents, int factor) {
  const FoldPlan fold(plan.out, plan.layout, extents);
  return
      [fold, end = Times{static_cast<Compute<T>>(factor)},
       target = FoldTarget<T>(c, slot, plan, extents), dout = c.in<T>("Out@GRAD", 0, plan.layout),
       work = c.workspace<Compute<T>>(fold.workspace())] {
        fold.run<SumFold>(dout.data(), target.data(), work.data(), end);
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

  template <typename R>
  void run(R* to) const {
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
      apply_grad_block<Side>(from_x, from_y, o + b.out, g + b.out, to + b.out, b.rows, b.columns,
                             strides);
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
          whole = c.workspace<Compute<T>>(plan.layout.physical_numel(plan.out)),
          work = c.workspace<Compute<T>>(fold.workspace())] {
    side.run(whole.data());
    fold.run<SumFold>(whole.data(), target.data(), work.data(), Times<Compute<T>>());
    target.finish();
  };
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  const BinaryPlan plan =
      plan_binary(c, c.shape("Out@GRAD"), {"Out@GRAD", "X", "Y"}, F::kInfo.keeps_zero);
  const bool wants_x = c.has("X@GRAD"), wants_y = c.has("Y@GRAD");
  // The side that comes last may overwrite the gradient of the result: one that is not repeated.
  const bool x_last = !plan.x_repeated();
  const Step x_step =
      wants_x ? backward_side<Side<F, true>, T>(c, "X@GRAD", plan, plan.x, x_last || !wants_y)
              : Step();
  const Step y_step =
      wants_y ? backward_side<Side<F, false>, T>(c, "Y@GRAD", plan, plan.y, !x_last || !wants_x)
              : Step();
  return in_order({x_last ? y_step : x_step, x_last ? x_step : y_step});
}

// ---- Definitions --------------------------------------------------------------------------------

template <typename F>
GradRule gradient() {
  constexpr int kReads = F::kInfo.dx_reads | F::kInfo.dy_reads;
  std::vector<Use> uses = {kReads & kX ? Use("X") : shape_of("X"),
                           kReads & kY ? Use("Y") : shape_of("Y")};
  if (kReads & kOut) uses.push_back("Out");
  return grad_op(std::move(uses),
                 {.kernels = kernels_for<float, double, Half, BFloat16>(
                      []<typename T>(PrepareContext& c) { return backward<F, T>(c); }),
                  .inputs = {maybe("Out", "result of the op", kReads & kOut)}});
}

template <typename F>
OpDef definition(std::string type) {
  return {
      .type = std::move(type),
      .doc = fmt::format("Out = {}, element by element; Y is repeated where X is larger.",
                         F::kInfo.formula),
      .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor of the same dtype"}},
      .outputs = {{.name = "Out", .doc = "of the common shape"}},
      .attrs = {{"axis", int32_t{-1},
                 "the axis of X with which Y's first axis aligns; -1: the last axes align"}},
      .infer = infer<F>,
      .kernels = kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(
          []<typename T>(PrepareContext& c) { return forward<F, T>(c); })};
}

template <typename F>
void define() {
  OpDef def = definition<F>(F::kInfo.type);
  for (const char* name : {"x_data_format", "y_data_format"}) {
    def.attrs.push_back({name, std::string(), "of programs of 1.8; ignored"});
  }
  for (const char* name : {"Scale_x", "Scale_y", "Scale_out"}) {
    def.attrs.push_back({name, 1.0f, "of quantized programs; ignored"});
  }
  if constexpr (binary::differentiable<F>) def.grad = gradient<F>();
  if constexpr (std::is_same_v<F, binary::Mul>)
    def.kernels.push_back({kCpu, boolean, binary_step<F, bool, bool>});
  define_op(std::move(def));
}

const bool kDefined = [] {
  for_each(binary::Arithmetic{}, []<typename F>() { define<F>(); });
  define_op(definition<binary::Add>("grad_add"));  // what adds up gradients in Paddle
  return true;
}();

}  // namespace

int64_t padded_numel(const BinaryPlan& plan, const Shape& operand) {
  const int64_t axis = moving_axis(operand);
  return operand[axis] == 1 ? 1 : plan.layout.padded(plan.out)[axis];
}

BinaryPlan plan_binary(const PrepareContext& c, const Shape& out,
                       std::initializer_list<std::string_view> leads, bool keeps_zero) {
  const AlignedPair pair =
      aligned_pair(c.shape("X"), c.shape("Y"), c.op().attr_or<int64_t>("axis", -1), out.rank());
  BinaryPlan plan{.out = out, .x = pair.x, .y = pair.y};
  for (const std::string_view slot : leads) {
    if (plan.layout.plain() && c.shape(slot) == out) plan.layout = c.layout(slot);
  }
  // A layout belongs to a rank: an operand that only fills up with ones has none.
  const bool x_fits = plan.x_repeated() || c.shape("X") == out;
  const bool y_fits = plan.y_repeated() || c.shape("Y") == out;
  if (!x_fits || !y_fits) plan.layout = {};
  if (plan.padded() && !(keeps_zero && may_pad(plan.x, out) && may_pad(plan.y, out))) {
    plan.layout = {};
  }
  return plan;
}

}  // namespace flotilla::ops
