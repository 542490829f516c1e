// flotilla/update/sgd.h
//
// Gradient descent: param -= lr * grad.

#pragma once

#include <span>

namespace flotilla::update {

// REQUIRES: equal lengths.
void sgd(std::span<float> param, std::span<const float> grad, float lr);
void sgd(std::span<double> param, std::span<const double> grad, double lr);

}  // namespace flotilla::update
