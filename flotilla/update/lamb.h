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

#include <cmath>
#include <span>

#include "flotilla/update/betas.h"
#include "flotilla/update/numbers.h"
#include "flotilla/update/sgd.h"

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

// The trust ratio of the second pass: 1 where either norm is zero.
FLT_FN double lamb_ratio(double param_squares, double step_squares) {
  const bool usable = param_squares > 0 && step_squares > 0;
  return usable ? std::sqrt(param_squares / step_squares) : 1.0;
}

struct LambSettings {
  enum { kDecay, kFirst, kSecond, kEpsilon, kAlways, kMultiPrecision, kPlain };

  template <typename T>
  FLT_FN static Lamb<T> lamb(const Numbers<T>& n) {
    const bool plain = n[kPlain] != 0;
    return {.beta1 = n[kFirst],
            .beta2 = n[kSecond],
            .epsilon = n[kEpsilon],
            .beta1_power = plain ? T{0} : n.powers[0],
            .beta2_power = plain ? T{0} : n.powers[1],
            .decay = n[kDecay]};
  }
  template <typename T>
  FLT_FN static bool adapts(const Numbers<T>& n) {
    return n[kDecay] > 0 || n[kAlways] != 0 || n[kPlain] != 0;
  }
};

template <typename T>
struct LambFormula {
  T beta1, beta2, epsilon, decay, scale1, scale2;

  FLT_FN explicit LambFormula(const Lamb<T>& rule)
      : beta1(rule.beta1),
        beta2(rule.beta2),
        epsilon(rule.epsilon),
        decay(rule.decay),
        scale1(1 / (1 - rule.beta1_power)),
        scale2(1 / (1 - rule.beta2_power)) {}
  FLT_FN static LambFormula of(const Numbers<T>& n) { return LambFormula(LambSettings::lamb(n)); }

  // The step of the first pass.
  FLT_FN T propose(T param, T grad, T& moment1, T& moment2) const {
    moment1 = beta1 * moment1 + (1 - beta1) * grad;
    moment2 = beta2 * moment2 + (1 - beta2) * grad * grad;
    return moment1 * scale1 / (std::sqrt(moment2 * scale2) + epsilon) + decay * param;
  }
  FLT_FN static SgdFormula<T> step(const Numbers<T>& n) { return {static_cast<T>(n.lr * n.ratio)}; }
  FLT_FN static double ratio(double param_squares, double step_squares, const Numbers<T>& n) {
    return LambSettings::adapts(n) ? lamb_ratio(param_squares, step_squares) : 1.0;
  }
};

// REQUIRES: equal lengths.
void lamb_step(std::span<const float> param, std::span<const float> grad, std::span<float> moment1,
               std::span<float> moment2, std::span<float> step, const Lamb<float>& rule);
void lamb_step(std::span<const double> param, std::span<const double> grad,
               std::span<double> moment1, std::span<double> moment2, std::span<double> step,
               const Lamb<double>& rule);

}  // namespace flotilla::update
