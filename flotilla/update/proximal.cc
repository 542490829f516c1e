// flotilla/update/proximal.cc
//
// Proximal steps (Duchi and Singer, "Efficient online and batch learning using forward backward
// splitting", 2009): after a step along the gradient each element moves toward zero, by lr * l1 but
// not beyond, and is divided by 1 + lr * l2.

#include <algorithm>
#include <cmath>

#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

enum { kL1, kL2 };

std::vector<Setting> penalties() {
  return {setting("l1", 0.0f, "strength of the L1 penalty"),
          setting("l2", 0.0f, "strength of the L2 penalty")};
}

template <typename T>
T toward_zero(T value, const Numbers<T>& n) {
  const T lr = static_cast<T>(n.lr);
  const T left = std::max(std::abs(value) - lr * n[kL1], T{0});
  return std::copysign(left, value) / (1 + lr * n[kL2]);
}

const Rule& descent = define_rule(elementwise(
    {
        .name = "proximal_gd",
        .doc = "Subtracts the gradient, times the learning rate, and draws the parameter to zero.",
        .settings = penalties(),
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      for (size_t i = 0; i < p.param.size(); ++i) {
        p.param[i] = toward_zero(p.param[i] - static_cast<T>(n.lr) * p.grad[i], n);
      }
    }));

// An element that has seen no gradient yet takes no step along it; Paddle makes it NaN.
const Rule& adagrad = define_rule(elementwise(
    {
        .name = "proximal_adagrad",
        .doc = "Divides each step by the root of the sum of all squared gradients so far, and "
               "draws the parameter to zero.",
        .states = {{"moment", "Moment", "sum of squared gradients"}},
        .settings = penalties(),
        .inputs = {"Param", "Moment"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      for (size_t i = 0; i < p.param.size(); ++i) {
        const T g = p.grad[i];
        T& moment = p.states[0][i];
        moment += g * g;
        const T step = moment > 0 ? static_cast<T>(n.lr) * g / std::sqrt(moment) : T{0};
        p.param[i] = toward_zero(p.param[i] - step, n);
      }
    }));

}  // namespace
}  // namespace flotilla::update
