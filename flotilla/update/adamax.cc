#include "flotilla/update/adamax.h"

#include <cstddef>

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* moment, float* norm, size_t n,
                            const Adamax<float>& rule) {
  update_each(AdamaxFormula(rule), n, p, g, moment, norm);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* moment, double* norm, size_t n,
                            const Adamax<double>& rule) {
  update_each(AdamaxFormula(rule), n, p, g, moment, norm);
}

}  // namespace

void adamax(std::span<float> param, std::span<const float> grad, std::span<float> moment,
            std::span<float> norm, const Adamax<float>& rule) {
  loop(param.data(), grad.data(), moment.data(), norm.data(), param.size(), rule);
}

void adamax(std::span<double> param, std::span<const double> grad, std::span<double> moment,
            std::span<double> norm, const Adamax<double>& rule) {
  loop(param.data(), grad.data(), moment.data(), norm.data(), param.size(), rule);
}

namespace {

constexpr Adamax<float> kUsual = {};

const Rule& rule = define_rule(elementwise(
    {
        .name = "adamax",
        .doc = "Adam with the largest of recent gradients in the place of their mean square.",
        .states = {{"moment", "Moment", "mean of gradients"},
                   {"inf_norm", "InfNorm", "the largest of recent gradients"}},
        .powers = {{"beta1_pow_acc", "Beta1Pow", "beta1",
                    "beta1 to the power of the step, which counts from 1", Power::kProgram}},
        .settings = {setting("beta1", kUsual.beta1, "what remains of Moment after a step"),
                     setting("beta2", kUsual.beta2, "what remains of InfNorm after a step"),
                     setting("epsilon", kUsual.epsilon, "keeps the divisor above zero"),
                     multi_precision()},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      adamax(p.param, p.grad, p.states[0], p.states[1], AdamaxSettings::adamax(n));
    }));

}  // namespace

}  // namespace flotilla::update
