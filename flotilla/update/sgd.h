// flotilla/update/sgd.h
//
// Gradient descent: param -= lr * grad.

#pragma once

#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct SgdFormula {
  T lr;

  FLT_FN static SgdFormula of(const Numbers<T>& n) { return {static_cast<T>(n.lr)}; }
  FLT_FN void operator()(T& param, T grad) const { param -= lr * grad; }
};

// REQUIRES: equal lengths.
void sgd(std::span<float> param, std::span<const float> grad, float lr);
void sgd(std::span<double> param, std::span<const double> grad, double lr);

}  // namespace flotilla::update
