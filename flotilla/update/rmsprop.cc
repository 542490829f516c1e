#include "flotilla/update/rmsprop.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

template <bool kCentered, bool kGrad, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict square,
                          T* __restrict mean, T* __restrict moment, size_t n,
                          const Rmsprop<T>& rule) {
  const T lr = rule.lr, decay = rule.decay, rest = 1 - rule.decay;
  const T momentum = rule.momentum, epsilon = rule.epsilon;
  for (size_t i = 0; i < n; ++i) {
    const T gradient = kGrad ? g[i] : T{0};
    square[i] = decay * square[i] + rest * gradient * gradient;
    T spread = square[i];
    if constexpr (kCentered) {
      mean[i] = decay * mean[i] + rest * gradient;
      spread -= mean[i] * mean[i];
    }
    moment[i] = momentum * moment[i] + lr * gradient / std::sqrt(spread + epsilon);
    p[i] -= moment[i];
  }
}

template <typename T>
FLT_UPDATE_BODY void choose(T* p, const T* g, T* square, T* mean, T* moment, size_t n,
                            const Rmsprop<T>& rule) {
  if (mean == nullptr) {
    g == nullptr ? body<false, false>(p, g, square, mean, moment, n, rule)
                 : body<false, true>(p, g, square, mean, moment, n, rule);
  } else {
    g == nullptr ? body<true, false>(p, g, square, mean, moment, n, rule)
                 : body<true, true>(p, g, square, mean, moment, n, rule);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square, float* mean, float* moment,
                            size_t n, const Rmsprop<float>& rule) {
  choose(p, g, square, mean, moment, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square, double* mean,
                            double* moment, size_t n, const Rmsprop<double>& rule) {
  choose(p, g, square, mean, moment, n, rule);
}

}  // namespace

void rmsprop(std::span<float> param, std::span<const float> grad, std::span<float> mean_square,
             std::span<float> mean_grad, std::span<float> moment, const Rmsprop<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), mean_square.data(),
       mean_grad.empty() ? nullptr : mean_grad.data(), moment.data(), param.size(), rule);
}

void rmsprop(std::span<double> param, std::span<const double> grad, std::span<double> mean_square,
             std::span<double> mean_grad, std::span<double> moment, const Rmsprop<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), mean_square.data(),
       mean_grad.empty() ? nullptr : mean_grad.data(), moment.data(), param.size(), rule);
}

}  // namespace flotilla::update
