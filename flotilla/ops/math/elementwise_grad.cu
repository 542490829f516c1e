// flotilla/ops/math/elementwise_grad.cu
//
// The gradients of the arithmetic of two tensors on a GPU. The gradient of an operand that is
// repeated is added up as it is computed.

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/math/elementwise.cuh"

namespace flotilla::ops {
namespace {

using binary::kOut, binary::kX, binary::kY;
using cuda::Broadcast;

// The derivative towards one side, as a function of elements.
template <typename F, bool kOfX>
struct Derivative {
  static constexpr bool kTowardsX = kOfX;
  static constexpr int kFactor = kOfX ? F::kInfo.dx_factor : F::kInfo.dy_factor;
  static constexpr int kReads = kOfX ? F::kInfo.dx_reads : F::kInfo.dy_reads;

  // As it is added up.
  template <typename T>
  FLT_FN static Compute<T> wide(T x, T y, T o, T g) {
    if constexpr (kOfX) {
      return F::dx(widen(x), widen(y), widen(o), widen(g));
    } else {
      return F::dy(widen(x), widen(y), widen(o), widen(g));
    }
  }
  template <typename T>
  FLT_FN T operator()(T x, T y, T o, T g) const {
    return narrow<T>(wide(x, y, o, g));
  }
};

// What a derivative reads, where it lies in one run; what it does not read is the gradient.
template <typename T>
struct Read {
  cuda::Operand<T> x, y, o, g;
};

template <typename D, typename T>
class Reader {
 public:
  Reader(PrepareContext& c, const BinaryPlan& plan, const Broadcast& b)
      : side_x_(b.side_x), side_y_(b.side_y), g_(c.in<T>("Out@GRAD", 0, plan.layout)) {
    if constexpr ((D::kReads & kX) != 0) x_ = operand_in<T>(c, "X", plan, plan.x);
    if constexpr ((D::kReads & kY) != 0) y_ = operand_in<T>(c, "Y", plan, plan.y);
    if constexpr ((D::kReads & kOut) != 0) o_ = c.in<T>("Out", 0, plan.layout);
  }

  Read<T> get() const {
    const cuda::Operand<T> g = {g_.data()};
    return {x_ ? cuda::Operand<T>{x_.data(), side_x_} : g,
            y_ ? cuda::Operand<T>{y_.data(), side_y_} : g, o_ ? cuda::Operand<T>{o_.data()} : g, g};
  }

 private:
  Broadcast::Side side_x_, side_y_;
  In<T> x_, y_, o_, g_;
};

// The derivative towards a side that is repeated: at `from` in the result, `to` in that side.
template <typename D, typename T>
struct DerivativeAt {
  Broadcast b;
  Read<T> in;

  __device__ Compute<T> operator()(int64_t from, int64_t to, int64_t) const {
    const T g = in.g.data[from];
    T x = g, y = g, o = g;
    if constexpr ((D::kReads & kX) != 0) {
      x = in.x.data[D::kTowardsX ? to : b.place(in.x.side, from)];
    }
    if constexpr ((D::kReads & kY) != 0) {
      y = in.y.data[D::kTowardsX ? b.place(in.y.side, from) : to];
    }
    if constexpr ((D::kReads & kOut) != 0) o = in.o.data[from];
    return D::wide(x, y, o, g);
  }
};

template <typename D, typename T>
Step repeated_side(PrepareContext& c, std::string_view slot, const BinaryPlan& plan) {
  const Broadcast b = broadcast_of(plan);
  const GpuFold fold(plan.out, D::kTowardsX ? plan.x : plan.y, plan.layout);
  return [stream = c.around().stream, b, fold, reader = Reader<D, T>(c, plan, b),
          to = c.out<T>(slot), work = c.workspace<Compute<T>>(fold.workspace())] {
    fold.run<SumFold>(stream, DerivativeAt<D, T>{b, reader.get()},
                      StoreFinished<T, AsItIs>{to.data(), {}}, work.data());
  };
}

template <typename D, typename T>
Step dense_side(PrepareContext& c, std::string_view slot, const BinaryPlan& plan, bool last) {
  if constexpr (D::kFactor == 1) return pass_through(c, "Out@GRAD", slot, plan.layout);
  if (last) c.in_place("Out@GRAD", slot);
  const Broadcast b = broadcast_of(plan);
  return [stream = c.around().stream, processors = c.around().gpu->info().processors, b,
          reader = Reader<D, T>(c, plan, b), to = c.out<T>(slot, 0, plan.layout)] {
    const Read<T> from = reader.get();
    cuda::broadcast_map(stream, processors, b, D{}, to.data(), from.x, from.y, from.o, from.g);
  };
}

template <typename F, bool kOfX, typename T>
Step side(PrepareContext& c, const BinaryPlan& plan, bool last) {
  using D = Derivative<F, kOfX>;
  const char* slot = kOfX ? "X@GRAD" : "Y@GRAD";
  if (!c.has(slot)) return {};
  const bool repeated = kOfX ? plan.x_repeated() : plan.y_repeated();
  return repeated ? repeated_side<D, T>(c, slot, plan) : dense_side<D, T>(c, slot, plan, last);
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  const BinaryPlan plan = plan_binary(c, c.shape("Out@GRAD"), {"Out@GRAD", "X", "Y"}, false);
  // The side that comes last may overwrite the gradient of the result: one that is not repeated.
  const bool x_last = !plan.x_repeated();
  const Step x = side<F, true, T>(c, plan, x_last || !c.has("Y@GRAD"));
  const Step y = side<F, false, T>(c, plan, !x_last || !c.has("X@GRAD"));
  return in_order({x_last ? y : x, x_last ? x : y});
}

template <typename F, typename... T>
bool add() {
  return add_kernels(std::string(F::kInfo.type) + "_grad",
                     {{kCuda, dtype_of<T>, backward<F, T>}...});
}

// 16-bit floats for what models compute with; each kernel takes its time to compile.
template <typename... F>
bool add_common(Types<F...>) {
  return (add<F, float, double, Half, BFloat16>() && ...);
}
template <typename... F>
bool add_rare(Types<F...>) {
  return (add<F, float, double>() && ...);
}

[[maybe_unused]] const bool kAdded =
    add_common(
        Types<binary::Add, binary::Sub, binary::Mul, binary::Div, binary::Max, binary::Min>{}) &&
    add_rare(Types<binary::NumberExtreme<true>, binary::NumberExtreme<false>, binary::Pow,
                   binary::Heaviside>{});

}  // namespace
}  // namespace flotilla::ops
