#include "flotilla/update/adam.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

// The rule with what is the same for every element worked out:
//   param = param * keep - rate * moment1 / (sqrt(moment2) + epsilon)
template <typename T>
struct Constants {
  T beta1, rest1, beta2, rest2, rate, epsilon, keep;

  explicit Constants(const Adam<T>& rule)
      : beta1(rule.beta1),
        rest1(1 - rule.beta1),
        beta2(rule.beta2),
        rest2(1 - rule.beta2),
        rate(rule.lr * std::sqrt(1 - rule.beta2_power) / (1 - rule.beta1_power)),
        epsilon(rule.plain_epsilon ? rule.epsilon : rule.epsilon * std::sqrt(1 - rule.beta2_power)),
        keep(1 - rule.lr * rule.decay) {}
};

template <bool kGrad, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v,
                          size_t n, const Constants<T>& c) {
  const auto [beta1, rest1, beta2, rest2, rate, epsilon, keep] = c;
  for (size_t i = 0; i < n; ++i) {
    const T gradient = kGrad ? g[i] : T{0};
    m[i] = beta1 * m[i] + rest1 * gradient;
    v[i] = beta2 * v[i] + rest2 * gradient * gradient;
    p[i] = keep * p[i] - rate * (m[i] / (std::sqrt(v[i]) + epsilon));
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* m, float* v, size_t n,
                            const Constants<float>& c) {
  g == nullptr ? body<false>(p, g, m, v, n, c) : body<true>(p, g, m, v, n, c);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* m, double* v, size_t n,
                            const Constants<double>& c) {
  g == nullptr ? body<false>(p, g, m, v, n, c) : body<true>(p, g, m, v, n, c);
}

}  // namespace

void adam(std::span<float> param, std::span<const float> grad, std::span<float> moment1,
          std::span<float> moment2, const Adam<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), moment1.data(), moment2.data(),
       param.size(), Constants<float>(rule));
}

void adam(std::span<double> param, std::span<const double> grad, std::span<double> moment1,
          std::span<double> moment2, const Adam<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), moment1.data(), moment2.data(),
       param.size(), Constants<double>(rule));
}

}  // namespace flotilla::update
