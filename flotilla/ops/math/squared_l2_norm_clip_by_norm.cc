// flotilla/ops/math/squared_l2_norm_clip_by_norm.cc
//
// squared_l2_norm and clip_by_norm, which gradient clipping stands on.

#include <cmath>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/common/reduce_engine.h"
#include "flotilla/ops/math/elementwise.h"

namespace flotilla::ops {
namespace {

// The sum of n squares, piece by piece as FoldPlan adds: the same bits on any number of threads.
template <typename T>
class SquareSum {
 public:
  SquareSum(PrepareContext& c, int64_t n) : n_(n), work_(c.workspace<T>((n + kRun - 1) / kRun)) {}

  T of(const T* x) const {
    T* sums = work_.data();
    const int64_t runs = (n_ + kRun - 1) / kRun;
    parallel_ranges(runs, 2, [=, this](int64_t begin, int64_t end) {
      simd([=, this] {
        T squares[kRun];
        for (int64_t run = begin; run < end; ++run) {
          const T* from = x + run * kRun;
          const int64_t size = std::min(kRun, n_ - run * kRun);
          for (int64_t i = 0; i < size; ++i) squares[i] = from[i] * from[i];
          sums[run] = fold_run<SumFold>(squares, size);
        }
      });
    });
    return fold_run<SumFold>(sums, runs);
  }

 private:
  int64_t n_;
  Out<T> work_;
};

void infer_one(InferContext& c) { c.out("Out") = VarMeta::tensor(c.dtype("X"), {1}); }

// Padding is zero and adds nothing, so any layout will do.
constexpr auto squared_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  return [sum = SquareSum<T>(c, layout.physical_numel(c.shape("X"))), in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out")] { *out.data() = sum.of(in.data()); };
};

void lower_squared_grad(LowerContext& c) {
  const std::string factor = c.apply("scale", c.in("Out@GRAD"), {{"scale", 2.0f}});
  c.result("X@GRAD", c.apply("elementwise_mul", c.in("X"), factor));
}

const OpDef& squared_l2_norm = define_op({
    .type = "squared_l2_norm",
    .doc = "The sum of the squares of all elements.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .infer = infer_one,
    .grad = grad_op({"X"}, {.lower = lower_squared_grad}),
    .kernels = kernels_for<float, double>(squared_forward),
});

void infer_clip(InferContext& c) { c.out("Out") = like(c.in("X")); }

constexpr auto clip_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  const int64_t n = layout.physical_numel(c.shape("X"));
  c.in_place("X", "Out");
  return [walk = Walk({n}, {}, {n}, {1}), sum = SquareSum<T>(c, n),
          most = static_cast<T>(c.attr<float>("max_norm")), in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    const T norm = std::sqrt(sum.of(in.data()));
    const T factor = norm > most ? most / norm : T{1};
    apply<binary::Mul>(walk, in.data(), &factor, out.data());
  };
};

const OpDef& clip_by_norm = define_op({
    .type = "clip_by_norm",
    .doc = "X, made shorter where its length exceeds `max_norm`.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"max_norm", 1.0f, "the largest length"}},
    .infer = infer_clip,
    .kernels = kernels_for<float, double>(clip_forward),
});

}  // namespace
}  // namespace flotilla::ops
