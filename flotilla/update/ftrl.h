// flotilla/update/ftrl.h
//
// FTRL-Proximal (McMahan et al., "Ad click prediction: a view from the trenches", 2013), with
// power(s) = s^-lr_power, by default the square root:
//
//   linear += grad - (power(square + grad^2) - power(square)) / lr * param
//   square += grad^2
//   param = |linear| > l1 ? (sign(linear) * l1 - linear) / (power(square) / lr + 2 * l2) : 0

#pragma once

#include <cmath>
#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Ftrl {
  T lr = 0;
  T l1 = 0;
  T l2 = 0;
  T lr_power = T{-0.5};
};

struct FtrlSettings {
  enum { kL1, kL2, kLrPower };

  template <typename T>
  FLT_FN static Ftrl<T> ftrl(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr), .l1 = n[kL1], .l2 = n[kL2], .lr_power = n[kLrPower]};
  }
};

template <typename T>
struct FtrlFormula {
  T inverse_lr, l1, l2, lr_power;

  FLT_FN explicit FtrlFormula(const Ftrl<T>& rule)
      : inverse_lr(1 / rule.lr), l1(rule.l1), l2(rule.l2), lr_power(rule.lr_power) {}
  FLT_FN static FtrlFormula of(const Numbers<T>& n) { return FtrlFormula(FtrlSettings::ftrl(n)); }

  // Whether power() is the square root: a loop that knows it can be vectorized.
  FLT_FN bool is_root() const { return lr_power == T{-0.5}; }

  template <bool kRoot>
  FLT_FN void step(T& param, T grad, T& square, T& linear) const {
    const auto power = [this](T sum) { return kRoot ? std::sqrt(sum) : std::pow(sum, -lr_power); };
    const T sum = square + grad * grad;
    const T root = power(sum);
    linear += grad - (root - power(square)) * inverse_lr * param;
    square = sum;
    const T pull = std::copysign(l1, linear) - linear;
    param = std::abs(linear) > l1 ? pull / (root * inverse_lr + 2 * l2) : T{0};
  }
  FLT_FN void operator()(T& param, T grad, T& square, T& linear) const {
    is_root() ? step<true>(param, grad, square, linear) : step<false>(param, grad, square, linear);
  }
};

// REQUIRES: equal lengths.
void ftrl(std::span<float> param, std::span<const float> grad, std::span<float> square,
          std::span<float> linear, const Ftrl<float>& rule);
void ftrl(std::span<double> param, std::span<const double> grad, std::span<double> square,
          std::span<double> linear, const Ftrl<double>& rule);

}  // namespace flotilla::update
