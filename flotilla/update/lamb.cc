#include "flotilla/update/lamb.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(const T* __restrict p, const T* __restrict g, T* __restrict m,
                          T* __restrict v, T* __restrict step, size_t n, const Lamb<T>& rule) {
  const T beta1 = rule.beta1, beta2 = rule.beta2, epsilon = rule.epsilon, decay = rule.decay;
  const T scale1 = 1 / (1 - rule.beta1_power), scale2 = 1 / (1 - rule.beta2_power);
  for (size_t i = 0; i < n; ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    step[i] = m[i] * scale1 / (std::sqrt(v[i] * scale2) + epsilon) + decay * p[i];
  }
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

double lamb_ratio(double param_squares, double step_squares) {
  const bool usable = param_squares > 0 && step_squares > 0;
  return usable ? std::sqrt(param_squares / step_squares) : 1.0;
}

}  // namespace flotilla::update
