// flotilla/update/adadelta.h
//
// Adadelta (Zeiler, 2012):
//
//   square_grad = rho * square_grad + (1 - rho) * grad^2
//   step = -sqrt((square_step + epsilon) / (square_grad + epsilon)) * grad
//   square_step = rho * square_step + (1 - rho) * step^2
//   param += lr * step

#pragma once

#include <cmath>
#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Adadelta {
  T lr = 1;
  T rho = T{0.95};
  T epsilon = T{1e-6};
};

struct AdadeltaSettings {
  enum { kRho, kEpsilon };

  template <typename T>
  FLT_FN static Adadelta<T> adadelta(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr), .rho = n[kRho], .epsilon = n[kEpsilon]};
  }
};

template <typename T>
struct AdadeltaFormula {
  T lr, rho, rest, epsilon;

  FLT_FN explicit AdadeltaFormula(const Adadelta<T>& rule)
      : lr(rule.lr), rho(rule.rho), rest(1 - rule.rho), epsilon(rule.epsilon) {}
  FLT_FN static AdadeltaFormula of(const Numbers<T>& n) {
    return AdadeltaFormula(AdadeltaSettings::adadelta(n));
  }

  FLT_FN void operator()(T& param, T grad, T& square_grad, T& square_step) const {
    square_grad = rho * square_grad + rest * grad * grad;
    const T step = -std::sqrt((square_step + epsilon) / (square_grad + epsilon)) * grad;
    square_step = rho * square_step + rest * step * step;
    param += lr * step;
  }
};

// REQUIRES: equal lengths.
void adadelta(std::span<float> param, std::span<const float> grad, std::span<float> square_grad,
              std::span<float> square_step, const Adadelta<float>& rule);
void adadelta(std::span<double> param, std::span<const double> grad, std::span<double> square_grad,
              std::span<double> square_step, const Adadelta<double>& rule);

}  // namespace flotilla::update
