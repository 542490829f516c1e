// flotilla/update/lars.h
//
// LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017):
//
//   rate = lr * coeff * |param| / (|grad| + decay * |param| + epsilon)
//   velocity = mu * velocity + rate * (grad + decay * param)
//   param -= velocity
//
// The rate is lr where the decay or a norm is zero.

#pragma once

#include <cmath>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct LarsFormula {
  enum { kMu, kCoeff, kDecay, kEpsilon, kMultiPrecision, kRescale };

  T mu, rescale, decay, rate;

  FLT_FN static LarsFormula of(const Numbers<T>& n) {
    return {n[kMu], n[kRescale], n[kDecay], static_cast<T>(n.lr * n.ratio)};
  }
  FLT_FN static LarsFormula step(const Numbers<T>& n) { return of(n); }
  FLT_FN static double ratio(double param_squares, double grad_squares, const Numbers<T>& n) {
    const double param_norm = std::sqrt(param_squares);
    const double grad_norm = std::sqrt(grad_squares) * std::abs(n[kRescale]);
    if (!(n[kDecay] > 0 && param_norm > 0 && grad_norm > 0)) return 1;
    return n[kCoeff] * param_norm /
           (grad_norm + static_cast<double>(n[kDecay]) * param_norm + n[kEpsilon]);
  }
  FLT_FN void operator()(T& param, T grad, T& velocity) const {
    velocity = mu * velocity + rate * (rescale * grad + decay * param);
    param -= velocity;
  }
};

}  // namespace flotilla::update
