// flotilla/ops/math/reduce.cc
//
// Sums, means, products, extremes of a tensor over some of its axes: reduce_sum, reduce_mean,
// reduce_max, reduce_min, reduce_amax, reduce_amin, reduce_prod, reduce_all, reduce_any, the square
// root of a sum of squares, frobenius_norm, and mean over all axes. A result without an axis has
// shape [1].

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/reduce_engine.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/math/folded_axes.h"

namespace flotilla::ops {
namespace {

template <typename Context>
Shape folded_shape(const Context& c, const Shape& x) {
  return FoldedAxes(c, x, "dim").with_ones();
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const FoldedAxes axes(c, x.shape, "dim");
  VarMeta out = VarMeta::tensor(x.dtype, axes.result(c.attr<bool>("keep_dim")));
  const bool rows_stay = x.shape.rank() > 0 && !axes.folds(0);
  if (rows_stay) {
    out.lod_level = x.lod_level;
    out.lod_source = x.lod_source;
    out.sequences = x.sequences;
  }
  const int64_t code = c.attr<int64_t>("out_dtype");
  if (code >= 0) out.dtype = from_paddle(static_cast<int>(code));
  c.out("Out") = std::move(out);
}

// Sums of short integers and bools are counted in int64.
void infer_sum(InferContext& c) {
  infer(c);
  const DType x = c.dtype("X");
  if (c.attr<int64_t>("out_dtype") < 0 && (x == i32 || x == boolean)) c.out("Out").dtype = i64;
}

void infer_truth(InferContext& c) {
  infer(c);
  c.out("Out").dtype = boolean;
}

// ---- Forward ------------------------------------------------------------------------------------

template <typename Fold, typename T>
class Reduction {
 public:
  Reduction(PrepareContext& c, const Shape& x, const Shape& to, Divided end = {})
      : fold_(x, Layout(), to), end_(end), work_(c.workspace<Compute<T>>(fold_.workspace())) {}
  template <typename R>
  void run(const T* x, R* y) const {
    fold_.template run<Fold>(x, y, work_.data(), end_);
  }

 private:
  FoldPlan fold_;
  Divided end_;
  Out<Compute<T>> work_;
};

template <typename Fold, typename T>
Step forward(PrepareContext& c) {
  const Shape& x = c.shape("X");
  return [reduction = Reduction<Fold, T>(c, x, folded_shape(c, x)), in = c.in<T>("X"),
          out = c.out<T>("Out")] { reduction.run(in.data(), out.data()); };
}

template <typename To>
struct ConvertTo {
  FLT_FN To operator()(auto x) const { return static_cast<To>(x); }
};

// The sum of X as another dtype.
template <typename From, typename To>
Step converting(PrepareContext& c, const Shape& to, Divided end) {
  const Shape& x = c.shape("X");
  return [n = x.numel(), reduction = Reduction<SumFold, To>(c, x, to, end), in = c.in<From>("X"),
          copy = c.workspace<To>(x.numel()), out = c.out<To>("Out")] {
    map(n, kGrainOperations, ConvertTo<To>{}, copy.data(), in.data());
    reduction.run(copy.data(), out.data());
  };
}

template <typename T>
Step sum_or_mean(PrepareContext& c) {
  const Shape& x = c.shape("X");
  const Shape to = folded_shape(c, x);
  const bool is_mean = c.op().type() == "reduce_mean";
  const Divided end = is_mean ? Divided::mean(to.numel(), x.numel()) : Divided();
  const DType out = c.dtype("Out");
  if (out != dtype_of<T>) {
    if (out == f32) return converting<T, float>(c, to, end);
    if (out == f64) return converting<T, double>(c, to, end);
    if (out == i32) return converting<T, int32_t>(c, to, end);
    if (out == i64) return converting<T, int64_t>(c, to, end);
  }
  if constexpr (std::is_same_v<T, bool>) {
    refuse("{} of bool cannot give {}", c.op().type(), out);
  } else {
    return [reduction = Reduction<SumFold, T>(c, x, to, end), in = c.in<T>("X"),
            y = c.out<T>("Out")] { reduction.run(in.data(), y.data()); };
  }
}

constexpr auto norm_forward = []<typename T>(PrepareContext& c) -> Step {
  using C = Compute<T>;
  const Shape& x = c.shape("X");
  const FoldPlan fold(x, Layout(), folded_shape(c, x));
  return [fold, n = x.numel(), in = c.in<T>("X"), squares = c.workspace<C>(x.numel()),
          work = c.workspace<C>(fold.workspace()), out = c.out<T>("Out")] {
    map(n, kGrainOperations, UnaryForward<unary::Square, C>{}, squares.data(), in.data());
    fold.run<SumFold>(squares.data(), out.data(), work.data(),
                      [](C sum) { return std::sqrt(sum); });
  };
};

// ---- Backward -----------------------------------------------------------------------------------

// Sum and mean: every element of X gets its result's gradient, times `factor`.
template <typename T>
Step spread(PrepareContext& c, const Shape& to, Compute<T> factor) {
  const Shape& x = c.shape("X@GRAD");
  if (factor == 1 && to == x) return pass_through(c, "Out@GRAD", "X@GRAD");
  const Walk walk(x, {}, to, Shape(Ints(x.dims().size(), 1)));
  return [walk, factor, dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    apply<binary::Mul>(walk, dout.data(), &factor, din.data());
  };
}

constexpr auto sum_backward = []<typename T>(PrepareContext& c) -> Step {
  return spread<T>(c, folded_shape(c, c.shape("X")), 1);
};

constexpr auto mean_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Shape to = folded_shape(c, x);
  return spread<T>(c, to, mean_factor<T>(to.numel(), x.numel()));
};

// amax, amin: the elements that are the extreme share its gradient.
constexpr auto shared_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Shape to = folded_shape(c, x);
  return [sum = Reduction<SumFold, T>(c, x, to), walk = Walk(x, {}, to, to),
          counts = c.workspace<Compute<T>>(to.numel()), in = c.in<T>("X"), out = c.in<T>("Out"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    T* dx = din.data();
    spread_fold<IsExtreme>(walk, out.data(), dout.data(), in.data(), dx);
    sum.run(dx, counts.data());
    spread_fold<ExtremeShare>(walk, counts.data(), dout.data(), dx, dx);
  };
};

template <typename F>
std::vector<Kernel> element_backward() {
  return kernels_for<float, double, Half, BFloat16>([]<typename T>(PrepareContext& c) {
    return fold_backward<F, T>(c, folded_shape(c, c.shape("X")));
  });
}

// ---- Definitions --------------------------------------------------------------------------------

std::vector<AttrSpec> attrs(Attr dim) {
  return {{"dim", std::move(dim), "the axes to fold; all where it is empty"},
          {"keep_dim", false, "folded axes stay, with extent 1"},
          {"reduce_all", false, "folds all axes, whatever `dim` says"},
          {"in_dtype", int32_t{-1}, "dtype of X; taken from X itself"},
          {"out_dtype", int32_t{-1}, "code of the dtype of Out; -1: that of X"}};
}

const std::vector<int32_t> kFirst = {0};

template <typename Fold>
std::vector<Kernel> numbers() {
  return kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(
      []<typename T>(PrepareContext& c) { return forward<Fold, T>(c); });
}

OpDef definition(std::string type, std::string what, void (*infer)(InferContext&),
                 std::vector<Kernel> kernels) {
  return {.type = std::move(type),
          .doc = "The " + std::move(what) + " of the elements of X along some axes.",
          .inputs = {{.name = "X", .doc = "tensor"}},
          .outputs = {{.name = "Out", .doc = "X without the folded axes"}},
          .attrs = attrs(kFirst),
          .infer = infer,
          .kernels = std::move(kernels)};
}

void define(OpDef def, bool reads_elements, std::vector<Kernel> backward) {
  std::vector<Use> uses = {shape_of("X")};
  if (reads_elements) uses = {"X", "Out"};
  def.grad =
      grad_op(std::move(uses), {.kernels = std::move(backward),
                                .inputs = {maybe("Out", "result of the op", reads_elements)}});
  define_op(std::move(def));
}

void define_truth(std::string type, std::string what, std::vector<Kernel> kernels) {
  OpDef def = definition(std::move(type), std::move(what), infer_truth, std::move(kernels));
  def.attrs = attrs(std::vector<int64_t>{0});
  define_op(std::move(def));
}

const bool kDefined = [] {
  std::vector<Kernel> sums = kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(
      []<typename T>(PrepareContext& c) { return sum_or_mean<T>(c); });
  define(definition("reduce_mean", "mean", infer, sums), false,
         kernels_for<float, double, Half, BFloat16>(mean_backward));
  sums.push_back({kCpu, boolean, sum_or_mean<bool>});
  define(definition("reduce_sum", "sum", infer_sum, std::move(sums)), false,
         kernels_for<float, double, Half, BFloat16>(sum_backward));
  define(definition("reduce_max", "largest", infer, numbers<MaxFold>()), true,
         element_backward<ExtremeGrad>());
  define(definition("reduce_min", "smallest", infer, numbers<MinFold>()), true,
         element_backward<ExtremeGrad>());
  const auto shared = kernels_for<float, double, Half, BFloat16>(shared_backward);
  OpDef largest = definition("reduce_amax", "largest", infer, numbers<MaxFold>());
  OpDef smallest = definition("reduce_amin", "smallest", infer, numbers<MinFold>());
  largest.attrs = smallest.attrs = attrs(std::vector<int64_t>{0});
  define(std::move(largest), true, shared);
  define(std::move(smallest), true, shared);
  define(definition("reduce_prod", "product", infer, numbers<ProductFold>()), true,
         element_backward<ProductGrad>());
  define(definition("frobenius_norm", "root of the sum of the squares", infer,
                    kernels_for<float, double, Half, BFloat16>(norm_forward)),
         true, element_backward<NormGrad>());
  define_truth("reduce_all", "conjunction", {{kCpu, boolean, forward<AllFold, bool>}});
  define_truth("reduce_any", "disjunction", {{kCpu, boolean, forward<AnyFold, bool>}});
  return true;
}();

// ---- mean ---------------------------------------------------------------------------------------

void infer_mean(InferContext& c) { c.out("Out") = VarMeta::tensor(c.dtype("X"), {1}); }

// Padding is zero and adds nothing, so any layout will do.
constexpr auto mean_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  const int64_t stored = layout.physical_numel(c.shape("X"));
  return [sum = Reduction<SumFold, T>(c, {stored}, {1}, {c.shape("X").numel()}),
          in = c.in<T>("X", 0, layout), out = c.out<T>("Out")] { sum.run(in.data(), out.data()); };
};

constexpr auto mean_all_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  return spread<T>(c, Shape(Ints(x.dims().size(), 1)), mean_factor<T>(1, x.numel()));
};

const OpDef& mean = define_op({
    .type = "mean",
    .doc = "The mean of all elements.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .infer = infer_mean,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double, Half, BFloat16>(mean_all_backward)}),
    .kernels = kernels_for<float, double, Half, BFloat16>(mean_forward),
});

}  // namespace
}  // namespace flotilla::ops
