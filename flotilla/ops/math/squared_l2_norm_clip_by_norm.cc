// flotilla/ops/math/squared_l2_norm_clip_by_norm.cc
//
// squared_l2_norm and clip_by_norm, which gradient clipping stands on.

#include <algorithm>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/reduce_engine.h"

namespace flotilla::ops {
namespace {

void infer_one(InferContext& c) { c.out("Out") = VarMeta::tensor(c.dtype("X"), {1}); }

// Piece by piece as FoldPlan adds: the same bits on any number of threads. Padding is zero and adds
// nothing, so any layout will do.
constexpr auto squared_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  const int64_t n = layout.physical_numel(c.shape("X")), runs = (n + kRun - 1) / kRun;
  return [=, work = c.workspace<T>(runs), in = c.in<T>("X", 0, layout), out = c.out<T>("Out")] {
    T* const sums = work.data();
    parallel_ranges(runs, 2, [=, x = in.data()](int64_t begin, int64_t end) {
      simd([=] {
        T squares[kRun];
        for (int64_t run = begin; run < end; ++run) {
          const T* from = x + run * kRun;
          const int64_t size = std::min(kRun, n - run * kRun);
          for (int64_t i = 0; i < size; ++i) squares[i] = from[i] * from[i];
          sums[run] = fold_run<SumFold>(squares, size);
        }
      });
    });
    *out.data() = fold_run<SumFold>(sums, runs);
  };
};

void lower_squared_grad(LowerContext& c) {
  c.result("X@GRAD", c.mul(c.in("X"), c.scale(c.in("Out@GRAD"), 2)));
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

void lower_clip(LowerContext& c) {
  const std::string norm = c.apply("sqrt", c.apply("squared_l2_norm", c.in("X")));
  const std::string most = c.apply("fill_any_like", norm, {{"value", c.attr<float>("max_norm")}});
  c.result("Out", c.mul(c.in("X"), c.clip(c.div(most, c.clip(norm, 1e-30f, 3e38f)), 0, 1)));
}

const OpDef& clip_by_norm = define_op({
    .type = "clip_by_norm",
    .doc = "X, made shorter where its length exceeds `max_norm`.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"max_norm", 1.0f, "the largest length"}},
    .infer = [](InferContext& c) { c.out("Out") = like(c.in("X")); },
    .lower = lower_clip,
});

}  // namespace
}  // namespace flotilla::ops
