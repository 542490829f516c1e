// flotilla/update/adamax.h
//
// Adamax (Kingma and Ba, 2015): Adam with the infinity norm.
//
//   moment = beta1 * moment + (1 - beta1) * grad
//   norm = max(|grad|, beta2 * norm + epsilon)
//   param -= lr / (1 - beta1^t) * moment / norm

#pragma once

#include <span>

#include "flotilla/update/betas.h"

namespace flotilla::update {

template <typename T>
struct Adamax {
  T lr = 0;
  T beta1 = kBeta1<T>;
  T beta2 = kBeta2<T>;
  T epsilon = T{1e-8};
  T beta1_power = kBeta1<T>;  // beta1^t in step t, which counts from 1
};

// REQUIRES: equal lengths.
void adamax(std::span<float> param, std::span<const float> grad, std::span<float> moment,
            std::span<float> norm, const Adamax<float>& rule);
void adamax(std::span<double> param, std::span<const double> grad, std::span<double> moment,
            std::span<double> norm, const Adamax<double>& rule);

}  // namespace flotilla::update
