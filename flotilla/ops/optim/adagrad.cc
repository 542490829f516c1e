// flotilla/ops/optim/adagrad.cc
//
// adagrad; see update/adagrad.h for the formula. Rows that a sparse gradient leaves out stay.

#include "flotilla/update/adagrad.h"

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  c.out("ParamOut") = c.in("Param");
  c.out("MomentOut") = c.in("Moment");
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const bool is_sparse = c.is_sparse("Grad");
  const Layout layout = is_sparse ? Layout() : c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", layout), moment(c, "Moment", "MomentOut", layout);
  const T epsilon = static_cast<T>(c.attr<float>("epsilon"));
  if (is_sparse) {
    return [=, grad = MergedRows<T>(c, "Grad")] {
      const update::Adagrad<T> rule = {.lr = rate.get<T>(), .epsilon = epsilon};
      T* p = param.start();
      T* m = moment.start();
      grad.for_each(
          [&](int64_t row, std::span<const T> g) {
            const int64_t begin = row * grad.width(), end = begin + grad.width();
            update::adagrad(part(p, begin, end), g, part(m, begin, end), rule);
          },
          [](int64_t, int64_t) {});
    };
  }
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    const update::Adagrad<T> rule = {.lr = rate.get<T>(), .epsilon = epsilon};
    update_parts(
        param, grad, [&](auto p, auto g, auto m) { update::adagrad(p, g, m, rule); }, moment);
  };
};

const OpDef& adagrad = define_op({
    .type = "adagrad",
    .doc = "Divides each step by the root of the sum of all squared gradients so far.",
    .inputs = {{"Param", "parameter"},
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               like_param("Moment", "sum of squared gradients"),
               one_number("LearningRate", "one number"),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("MomentOut", "in the place of Moment"), master_param_out()},
    .attrs = {{"epsilon", 1e-6f, "keeps the divisor above zero"}, kMultiPrecision},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops
