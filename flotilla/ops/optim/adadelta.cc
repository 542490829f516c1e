// flotilla/ops/optim/adadelta.cc
//
// adadelta; see update/adadelta.h for the formula. Programs of 1.x have no LearningRate: it is one.

#include "flotilla/update/adadelta.h"

#include "flotilla/ops/optim/optim.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  for (const std::string slot : {"Param", "AvgSquaredGrad", "AvgSquaredUpdate"}) {
    c.out(slot + "Out") = c.in(slot);
  }
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("Param");
  const NumberIn rate = c.has("LearningRate") ? NumberIn(c, "LearningRate") : NumberIn();
  const Changed<T> param(c, "Param", "ParamOut", layout);
  const Changed<T> squares(c, "AvgSquaredGrad", "AvgSquaredGradOut", layout);
  const Changed<T> steps(c, "AvgSquaredUpdate", "AvgSquaredUpdateOut", layout);
  const update::Adadelta<T> same = {.rho = static_cast<T>(c.attr<float>("rho")),
                                    .epsilon = static_cast<T>(c.attr<float>("epsilon"))};
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    update::Adadelta<T> rule = same;
    if (rate) rule.lr = rate.get<T>();
    update_parts(
        param, grad, [&](auto p, auto g, auto s, auto u) { update::adadelta(p, g, s, u, rule); },
        squares, steps);
  };
};

const OpDef& adadelta = define_op({
    .type = "adadelta",
    .doc = "Scales each step by the ratio of recent steps to recent gradients.",
    .inputs = {{"Param", "parameter"},
               like_param("Grad", "gradient of Param"),
               like_param("AvgSquaredGrad", "mean of squared gradients"),
               like_param("AvgSquaredUpdate", "mean of squared steps"),
               optional(one_number("LearningRate", "one number; by default 1")),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("AvgSquaredGradOut", "in the place of AvgSquaredGrad"),
                like_param("AvgSquaredUpdateOut", "in the place of AvgSquaredUpdate"),
                master_param_out()},
    .attrs = {{"rho", 0.95f, "what remains of the means after a step"},
              {"epsilon", 1e-6f, "keeps the ratio finite"},
              kMultiPrecision},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops
