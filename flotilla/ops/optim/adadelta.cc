// flotilla/ops/optim/adadelta.cc
//
// adadelta; see update/adadelta.h for the formula. Programs of 1.x have no LearningRate: it is one.

#include "flotilla/update/adadelta.h"

#include "flotilla/ops/optim/optim.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_update(c, {"Grad", "AvgSquaredGrad", "AvgSquaredUpdate"});
  for (const std::string slot : {"Param", "AvgSquaredGrad", "AvgSquaredUpdate"}) {
    c.out(slot + "Out") = c.in(slot);
  }
}

template <typename T>
Step prepare(PrepareContext& c) {
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
}

const OpDef& adadelta = define_op({
    .type = "adadelta",
    .doc = "Scales each step by the ratio of recent steps to recent gradients.",
    .inputs = {{"Param", "parameter"},
               {"Grad", "gradient of Param"},
               {"AvgSquaredGrad", "mean of squared gradients"},
               {"AvgSquaredUpdate", "mean of squared steps"},
               {.name = "LearningRate", .doc = "one number; by default 1", .optional = true},
               master_param()},
    .outputs = {{"ParamOut", "the new parameter, in the place of Param"},
                {"AvgSquaredGradOut", "in the place of AvgSquaredGrad"},
                {"AvgSquaredUpdateOut", "in the place of AvgSquaredUpdate"},
                master_param_out()},
    .attrs = {{"rho", 0.95f, "what remains of the means after a step"},
              {"epsilon", 1e-6f, "keeps the ratio finite"},
              kMultiPrecision},
    .infer = infer,
    .kernels =
        kernels_for<float, double>([]<typename T>(PrepareContext& c) { return prepare<T>(c); }),
});

}  // namespace
}  // namespace flotilla::ops
