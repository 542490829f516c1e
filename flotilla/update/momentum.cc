#include "flotilla/update/momentum.h"

#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

template <bool kNesterov, bool kGrad, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict v, size_t n,
                          const Momentum<T>& rule) {
  const T lr = rule.lr, mu = rule.mu, l2 = rule.l2, rescale = rule.rescale;
  for (size_t i = 0; i < n; ++i) {
    const T gradient = (kGrad ? rescale * g[i] : T{0}) + l2 * p[i];
    v[i] = mu * v[i] + gradient;
    p[i] -= lr * (kNesterov ? gradient + mu * v[i] : v[i]);
  }
}

template <typename T>
FLT_UPDATE_BODY void choose(T* p, const T* g, T* v, size_t n, const Momentum<T>& rule) {
  if (rule.nesterov) {
    g == nullptr ? body<true, false>(p, g, v, n, rule) : body<true, true>(p, g, v, n, rule);
  } else {
    g == nullptr ? body<false, false>(p, g, v, n, rule) : body<false, true>(p, g, v, n, rule);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* v, size_t n,
                            const Momentum<float>& rule) {
  choose(p, g, v, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* v, size_t n,
                            const Momentum<double>& rule) {
  choose(p, g, v, n, rule);
}

}  // namespace

void momentum(std::span<float> param, std::span<const float> grad, std::span<float> velocity,
              const Momentum<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), velocity.data(), param.size(), rule);
}

void momentum(std::span<double> param, std::span<const double> grad, std::span<double> velocity,
              const Momentum<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), velocity.data(), param.size(), rule);
}

}  // namespace flotilla::update
