// flotilla/update/lamb.h
//
// LAMB (You et al., "Large batch optimization for deep learning", 2020), in two passes over a
// tensor, because the second needs the norms of the whole of it:
//
//   1. moment1, moment2 as Adam's
//      step = (moment1 / (1 - beta1^t)) / (sqrt(moment2 / (1 - beta2^t)) + epsilon) + decay * param
//   2. param -= lr * ratio * step,  ratio = |param| / |step|
//
// Without a decay the ratio is 1, unless always_adapt. In Paddle 1.x (plain_moments) the moments
// are taken as they are, beta^t being 0, and every step is scaled.

#pragma once

#include <span>

#include "flotilla/update/betas.h"

namespace flotilla::update {

template <typename T>
struct Lamb {
  T beta1 = kBeta1<T>;
  T beta2 = kBeta2<T>;
  T epsilon = T{1e-6};
  T beta1_power = kBeta1<T>;  // beta1^t in step t, which counts from 1
  T beta2_power = kBeta2<T>;
  T decay = 0;
};

// REQUIRES: equal lengths.
void lamb_step(std::span<const float> param, std::span<const float> grad, std::span<float> moment1,
               std::span<float> moment2, std::span<float> step, const Lamb<float>& rule);
void lamb_step(std::span<const double> param, std::span<const double> grad,
               std::span<double> moment1, std::span<double> moment2, std::span<double> step,
               const Lamb<double>& rule);

// The trust ratio of the second pass: 1 where either norm is zero.
double lamb_ratio(double param_squares, double step_squares);

}  // namespace flotilla::update
