#include "flotilla/update/adadelta.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

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

namespace {

constexpr Adadelta<float> kUsual = {};
enum { kRho, kEpsilon };

// Programs of 1.x have no LearningRate: it is one.
const Rule& rule = define_rule(elementwise(
    {
        .name = "adadelta",
        .doc = "Scales each step by the ratio of recent steps to recent gradients.",
        .states = {{"_avg_squared_grad", "AvgSquaredGrad", "mean of squared gradients"},
                   {"_avg_squared_update", "AvgSquaredUpdate", "mean of squared steps"}},
        .settings = {setting("rho", kUsual.rho, "what remains of the means after a step"),
                     setting("epsilon", kUsual.epsilon, "keeps the ratio finite"),
                     multi_precision()},
        .lr = kUsual.lr,
        .inputs = {"Param", "Grad", "AvgSquaredGrad", "AvgSquaredUpdate"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      adadelta(p.param, p.grad, p.states[0], p.states[1],
               {.lr = static_cast<T>(n.lr), .rho = n[kRho], .epsilon = n[kEpsilon]});
    }));

}  // namespace

}  // namespace flotilla::update
