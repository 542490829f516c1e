// flotilla/ops/math/logsumexp.cc
//
// logsumexp: log(sum(exp(X))) over some axes, without overflow.

#include <algorithm>
#include <cmath>

#include "flotilla/ops/common/reduce_engine.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/math/folded_axes.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  c.out("Out") =
      VarMeta::tensor(x.dtype, FoldedAxes(c, x.shape, "axis").result(c.attr<bool>("keepdim")));
}

// exp(x - largest), with the largest of its slice.
struct Shifted {
  template <typename T>
  static T f(T x, T largest) {
    return exp_of(x - largest);
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Shape to = FoldedAxes(c, x, "axis").with_ones();
  const FoldPlan fold(x, {}, to);
  return [fold, walk = Walk(x, {}, x, to), n = to.numel(), in = c.in<T>("X"),
          work = c.workspace<T>(fold.workspace()), whole = c.workspace<T>(x.numel()),
          largest = c.workspace<T>(to.numel()), out = c.out<T>("Out")] {
    T *most = largest.data(), *y = out.data();
    fold.run<MaxFold>(in.data(), most, work.data(), [](T value) { return value; });
    // Of infinities only, the largest is no number to subtract.
    std::replace_if(
        most, most + n, [](T value) { return std::isinf(value); }, T{0});
    apply<Shifted>(walk, in.data(), most, whole.data());
    fold.run<SumFold>(whole.data(), y, work.data(), [](T sum) { return std::log(sum); });
    for (int64_t i = 0; i < n; ++i) y[i] += most[i];
  };
};

// dX = dOut exp(X - Out)
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return fold_backward<LogSumExpGrad, T>(c, FoldedAxes(c, c.shape("X"), "axis").with_ones());
};

const OpDef& logsumexp = define_op({
    .type = "logsumexp",
    .doc = "The logarithm of the sum of exponentials along some axes.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "X without the folded axes"}},
    .attrs = {{"axis", std::vector<int32_t>{0}, "the axes to fold; all where it is empty"},
              {"keepdim", false, "folded axes stay, with extent 1"},
              {"reduce_all", false, "folds all axes, whatever `axis` says"}},
    .infer = infer,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
