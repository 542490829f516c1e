#include "flotilla/update/ftrl.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <typename T, typename Power>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict square,
                          T* __restrict linear, size_t n, const Ftrl<T>& rule, Power power) {
  const T inverse_lr = 1 / rule.lr, l1 = rule.l1, l2 = rule.l2;
  for (size_t i = 0; i < n; ++i) {
    const T sum = square[i] + g[i] * g[i];
    const T root = power(sum);
    linear[i] += g[i] - (root - power(square[i])) * inverse_lr * p[i];
    square[i] = sum;
    const T pull = std::copysign(l1, linear[i]) - linear[i];
    p[i] = std::abs(linear[i]) > l1 ? pull / (root * inverse_lr + 2 * l2) : T{0};
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square, float* linear, size_t n,
                            const Ftrl<float>& rule) {
  body(p, g, square, linear, n, rule, [](float sum) { return std::sqrt(sum); });
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square, double* linear, size_t n,
                            const Ftrl<double>& rule) {
  body(p, g, square, linear, n, rule, [](double sum) { return std::sqrt(sum); });
}

template <typename T>
void run(std::span<T> param, std::span<const T> grad, std::span<T> square, std::span<T> linear,
         const Ftrl<T>& rule) {
  if (rule.lr_power == T{-0.5}) {
    loop(param.data(), grad.data(), square.data(), linear.data(), param.size(), rule);
  } else {
    body(param.data(), grad.data(), square.data(), linear.data(), param.size(), rule,
         [power = -rule.lr_power](T sum) { return std::pow(sum, power); });
  }
}

}  // namespace

void ftrl(std::span<float> param, std::span<const float> grad, std::span<float> square,
          std::span<float> linear, const Ftrl<float>& rule) {
  run(param, grad, square, linear, rule);
}

void ftrl(std::span<double> param, std::span<const double> grad, std::span<double> square,
          std::span<double> linear, const Ftrl<double>& rule) {
  run(param, grad, square, linear, rule);
}

namespace {

constexpr Ftrl<float> kUsual = {};
enum { kL1, kL2, kLrPower };

const Rule& rule = define_rule(elementwise(
    {
        .name = "ftrl",
        .doc = "Follows the regularized leader: keeps parameters at zero that do not earn their "
               "place.",
        .states = {{.name = "squared",
                    .slot = "SquaredAccumulator",
                    .doc = "sum of squared gradients",
                    .out = "SquaredAccumOut"},
                   {.name = "linear",
                    .slot = "LinearAccumulator",
                    .doc = "sum of gradients, corrected",
                    .out = "LinearAccumOut"}},
        .settings = {setting("l1", kUsual.l1, "strength of the L1 penalty"),
                     setting("l2", kUsual.l2, "strength of the L2 penalty"),
                     setting("lr_power", kUsual.lr_power,
                             "how the learning rate falls with the squared gradients")},
        .sparse = Sparse::kStay,
        .inputs = {"Param", "SquaredAccumulator", "LinearAccumulator"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      ftrl(p.param, p.grad, p.states[0], p.states[1],
           {.lr = static_cast<T>(n.lr), .l1 = n[kL1], .l2 = n[kL2], .lr_power = n[kLrPower]});
    }));

}  // namespace

}  // namespace flotilla::update
