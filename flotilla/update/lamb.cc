#include "flotilla/update/lamb.h"

#include <cstddef>

#include "flotilla/update/loop.h"
#include "flotilla/update/norm.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(const T* __restrict p, const T* __restrict g, T* __restrict m,
                          T* __restrict v, T* __restrict step, size_t n, const Lamb<T>& rule) {
  const LambFormula<T> f(rule);
  for (size_t i = 0; i < n; ++i) step[i] = f.propose(p[i], g[i], m[i], v[i]);
}

FLT_UPDATE_CLONES void loop(const float* p, const float* g, float* m, float* v, float* step,
                            size_t n, const Lamb<float>& rule) {
  body(p, g, m, v, step, n, rule);
}

FLT_UPDATE_CLONES void loop(const double* p, const double* g, double* m, double* v, double* step,
                            size_t n, const Lamb<double>& rule) {
  body(p, g, m, v, step, n, rule);
}

}  // namespace

void lamb_step(std::span<const float> param, std::span<const float> grad, std::span<float> moment1,
               std::span<float> moment2, std::span<float> step, const Lamb<float>& rule) {
  loop(param.data(), grad.data(), moment1.data(), moment2.data(), step.data(), param.size(), rule);
}

void lamb_step(std::span<const double> param, std::span<const double> grad,
               std::span<double> moment1, std::span<double> moment2, std::span<double> step,
               const Lamb<double>& rule) {
  loop(param.data(), grad.data(), moment1.data(), moment2.data(), step.data(), param.size(), rule);
}

namespace {

constexpr Lamb<float> kUsual = {};

template <typename T>
void propose(const Part<T>& p, const Numbers<T>& n) {
  lamb_step(p.param, p.grad, p.states[0], p.states[1], p.work, LambSettings::lamb(n));
}

template <typename T>
double measure(const Part<T>& p, const Numbers<T>& n) {
  return LambSettings::adapts(n) ? lamb_ratio(sum_of_squares(std::span<const T>(p.param)),
                                              sum_of_squares(std::span<const T>(p.work)))
                                 : 1.0;
}

// Not compiled for several processors: one with fused multiply-add would round only once.
template <typename T>
void step(const Part<T>& p, const Numbers<T>& n) {
  update_each(LambFormula<T>::step(n), p.param.size(), p.param.data(), p.work.data());
}

template <typename T>
constexpr Steps<T> kSteps = {.step = step<T>, .propose = propose<T>, .measure = measure<T>};

const Rule& rule = define_rule({
    .name = "lamb",
    .doc = "Adam's step, scaled to the size of the parameter.",
    .states = {{"moment1", "Moment1", "mean of gradients"},
               {"moment2", "Moment2", "mean of squared gradients"}},
    .powers = {{"beta1_pow_acc", "Beta1Pow", "beta1",
                "beta1 to the power of the step, which counts from 1", Power::kOpIfAsked},
               {"beta2_pow_acc", "Beta2Pow", "beta2", "beta2 to the same power",
                Power::kOpIfAsked}},
    .settings = {{.name = "weight_decay",
                  .doc = "how much of the parameter is added to the step",
                  .op = 0.0f,
                  .layer = 0.01f,
                  .table = 0.01f,
                  .decays = true},
                 setting("beta1", kUsual.beta1, "what remains of Moment1 after a step"),
                 setting("beta2", kUsual.beta2, "what remains of Moment2 after a step"),
                 setting("epsilon", kUsual.epsilon, "keeps the divisor above zero"),
                 setting("always_adapt", false,
                         "whether steps are scaled without weight_decay too"),
                 multi_precision(),
                 {.name = "plain_moments",
                  .doc = "whether a program of Paddle 1.x holds the op",
                  .op = false,
                  .table = 0.0f}},
    .f32 = kSteps<float>,
    .f64 = kSteps<double>,
    .sparse = Sparse::kSpread,
    .mark_1x = "plain_moments",
    .skips = true,
    .works = true,
});

}  // namespace

}  // namespace flotilla::update
