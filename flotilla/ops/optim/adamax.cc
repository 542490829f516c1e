// flotilla/ops/optim/adamax.cc
//
// adamax; see update/adamax.h for the formula. Beta1Pow is advanced by an op of its own.

#include "flotilla/update/adamax.h"

#include "flotilla/ops/optim/optim.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  for (const std::string slot : {"Param", "Moment", "InfNorm"}) c.out(slot + "Out") = c.in(slot);
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("Param");
  const NumberIn rate(c, "LearningRate"), power(c, "Beta1Pow");
  const Changed<T> param(c, "Param", "ParamOut", layout), moment(c, "Moment", "MomentOut", layout);
  const Changed<T> norm(c, "InfNorm", "InfNormOut", layout);
  const update::Adamax<T> same = {.beta1 = static_cast<T>(c.attr<float>("beta1")),
                                  .beta2 = static_cast<T>(c.attr<float>("beta2")),
                                  .epsilon = static_cast<T>(c.attr<float>("epsilon"))};
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    update::Adamax<T> rule = same;
    rule.lr = rate.get<T>();
    rule.beta1_power = power.get<T>();
    update_parts(
        param, grad, [&](auto p, auto g, auto m, auto n) { update::adamax(p, g, m, n, rule); },
        moment, norm);
  };
};

const OpDef& adamax = define_op({
    .type = "adamax",
    .doc = "Adam with the largest of recent gradients in the place of their mean square.",
    .inputs = {{"Param", "parameter"},
               like_param("Grad", "gradient of Param"),
               one_number("LearningRate", "one number"),
               like_param("Moment", "mean of gradients"),
               like_param("InfNorm", "the largest of recent gradients"),
               one_number("Beta1Pow", "beta1 to the power of the step, which counts from 1"),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("MomentOut", "in the place of Moment"),
                like_param("InfNormOut", "in the place of InfNorm"), master_param_out()},
    .attrs = {{"beta1", 0.9f, "what remains of Moment after a step"},
              {"beta2", 0.999f, "what remains of InfNorm after a step"},
              {"epsilon", 1e-8f, "keeps the divisor above zero"},
              kMultiPrecision},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops
