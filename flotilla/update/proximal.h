// flotilla/update/proximal.h
//
// Proximal steps (Duchi and Singer, "Efficient online and batch learning using forward backward
// splitting", 2009): after a step along the gradient each element moves toward zero, by lr * l1 but
// not beyond, and is divided by 1 + lr * l2.

#pragma once

#include <cmath>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Proximal {
  enum { kL1, kL2 };

  T lr, l1, l2;

  FLT_FN explicit Proximal(const Numbers<T>& n)
      : lr(static_cast<T>(n.lr)), l1(n[kL1]), l2(n[kL2]) {}

  FLT_FN T toward_zero(T value) const {
    const T left = std::abs(value) - lr * l1;
    return std::copysign(left < 0 ? T{0} : left, value) / (1 + lr * l2);
  }
};

template <typename T>
struct ProximalGdFormula : Proximal<T> {
  using Proximal<T>::Proximal;
  FLT_FN static ProximalGdFormula of(const Numbers<T>& n) { return ProximalGdFormula(n); }

  FLT_FN void operator()(T& param, T grad) const {
    param = this->toward_zero(param - this->lr * grad);
  }
};

// An element that has seen no gradient yet takes no step along it; Paddle makes it NaN.
template <typename T>
struct ProximalAdagradFormula : Proximal<T> {
  using Proximal<T>::Proximal;
  FLT_FN static ProximalAdagradFormula of(const Numbers<T>& n) { return ProximalAdagradFormula(n); }

  FLT_FN void operator()(T& param, T grad, T& moment) const {
    moment += grad * grad;
    const T step = moment > 0 ? this->lr * grad / std::sqrt(moment) : T{0};
    param = this->toward_zero(param - step);
  }
};

}  // namespace flotilla::update
