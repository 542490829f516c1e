// flotilla/update/adam.h
//
// Adam (Kingma and Ba, 2015) in the textbook form, and AdamW (Loshchilov and Hutter, 2019):
//
//   param *= 1 - lr * decay                                     AdamW only
//   moment1 = beta1 * moment1 + (1 - beta1) * grad
//   moment2 = beta2 * moment2 + (1 - beta2) * grad^2
//   param -= lr * (moment1 / (1 - beta1^t)) / (sqrt(moment2 / (1 - beta2^t)) + epsilon)
//
// Paddle 1.x adds epsilon to sqrt(moment2) alone: in the first steps it weighs up to 30 times as
// much.

#pragma once

#include <span>

#include "flotilla/update/betas.h"

namespace flotilla::update {

template <typename T>
struct Adam {
  T lr = 0;
  T beta1 = kBeta1<T>;
  T beta2 = kBeta2<T>;
  T epsilon = T{1e-8};
  T beta1_power = kBeta1<T>;  // beta1^t in step t, which counts from 1
  T beta2_power = kBeta2<T>;
  T decay = 0;                 // AdamW's; 0 is Adam
  bool plain_epsilon = false;  // as in Paddle 1.x
};

// An empty `grad` stands for zeros: what happens to the rows that a sparse gradient leaves out.
// REQUIRES: otherwise equal lengths.
void adam(std::span<float> param, std::span<const float> grad, std::span<float> moment1,
          std::span<float> moment2, const Adam<float>& rule);
void adam(std::span<double> param, std::span<const double> grad, std::span<double> moment1,
          std::span<double> moment2, const Adam<double>& rule);

}  // namespace flotilla::update
