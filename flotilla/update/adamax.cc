#include "flotilla/update/adamax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict moment,
                          T* __restrict norm, size_t n, const Adamax<T>& rule) {
  const T beta1 = rule.beta1, beta2 = rule.beta2, epsilon = rule.epsilon;
  const T rate = rule.lr / (1 - rule.beta1_power);
  for (size_t i = 0; i < n; ++i) {
    moment[i] = beta1 * moment[i] + (1 - beta1) * g[i];
    norm[i] = std::max(std::abs(g[i]), beta2 * norm[i] + epsilon);
    p[i] -= rate * (moment[i] / norm[i]);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* moment, float* norm, size_t n,
                            const Adamax<float>& rule) {
  body(p, g, moment, norm, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* moment, double* norm, size_t n,
                            const Adamax<double>& rule) {
  body(p, g, moment, norm, n, rule);
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
enum { kFirst, kSecond, kEpsilon };

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
      adamax(p.param, p.grad, p.states[0], p.states[1],
             {.lr = static_cast<T>(n.lr),
              .beta1 = n[kFirst],
              .beta2 = n[kSecond],
              .epsilon = n[kEpsilon],
              .beta1_power = n.powers[0]});
    }));

}  // namespace

}  // namespace flotilla::update
