#include "flotilla/update/adadelta.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict square_grad,
                          T* __restrict square_step, size_t n, const Adadelta<T>& rule) {
  const T lr = rule.lr, rho = rule.rho, rest = 1 - rule.rho, epsilon = rule.epsilon;
  for (size_t i = 0; i < n; ++i) {
    square_grad[i] = rho * square_grad[i] + rest * g[i] * g[i];
    const T step = -std::sqrt((square_step[i] + epsilon) / (square_grad[i] + epsilon)) * g[i];
    square_step[i] = rho * square_step[i] + rest * step * step;
    p[i] += lr * step;
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square_grad, float* square_step,
                            size_t n, const Adadelta<float>& rule) {
  body(p, g, square_grad, square_step, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square_grad, double* square_step,
                            size_t n, const Adadelta<double>& rule) {
  body(p, g, square_grad, square_step, n, rule);
}

}  // namespace

void adadelta(std::span<float> param, std::span<const float> grad, std::span<float> square_grad,
              std::span<float> square_step, const Adadelta<float>& rule) {
  loop(param.data(), grad.data(), square_grad.data(), square_step.data(), param.size(), rule);
}

void adadelta(std::span<double> param, std::span<const double> grad, std::span<double> square_grad,
              std::span<double> square_step, const Adadelta<double>& rule) {
  loop(param.data(), grad.data(), square_grad.data(), square_step.data(), param.size(), rule);
}

}  // namespace flotilla::update
