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

#include <cmath>
#include <span>

#include "flotilla/update/betas.h"
#include "flotilla/update/numbers.h"

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

// The settings of adam and its relatives, in their order.
struct AdamSettings {
  enum {
    kFirst,
    kSecond,
    kEpsilon,
    kLazy,
    kMinRows,
    kMultiPrecision,
    kPlainEpsilon,
    kGlobalPowers,
    // adamw only:
    kLrRatio,
    kCoeff,
    kWithDecay
  };

  template <typename T>
  FLT_FN static Adam<T> adam(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr),
            .beta1 = n[kFirst],
            .beta2 = n[kSecond],
            .epsilon = n[kEpsilon],
            .beta1_power = n.powers[0],
            .beta2_power = n.powers[1],
            .plain_epsilon = n[kPlainEpsilon] != 0};
  }
  template <typename T>
  FLT_FN static Adam<T> adamw(const Numbers<T>& n) {
    Adam<T> rule = adam(n);
    rule.lr = n[kLrRatio] * rule.lr;
    rule.decay = n[kWithDecay] != 0 ? n[kCoeff] : T{0};
    return rule;
  }
};

// What is above, with all that is the same for every element in three factors:
//   param = param * keep - rate * moment1 / (sqrt(moment2) + epsilon)
template <typename T>
struct AdamFormula {
  T beta1, rest1, beta2, rest2, rate, epsilon, keep;

  FLT_FN explicit AdamFormula(const Adam<T>& rule)
      : beta1(rule.beta1),
        rest1(1 - rule.beta1),
        beta2(rule.beta2),
        rest2(1 - rule.beta2),
        rate(rule.lr * std::sqrt(1 - rule.beta2_power) / (1 - rule.beta1_power)),
        epsilon(rule.plain_epsilon ? rule.epsilon : rule.epsilon * std::sqrt(1 - rule.beta2_power)),
        keep(1 - rule.lr * rule.decay) {}
  FLT_FN static AdamFormula of(const Numbers<T>& n) { return AdamFormula(AdamSettings::adam(n)); }

  FLT_FN void operator()(T& param, T grad, T& moment1, T& moment2) const {
    moment1 = beta1 * moment1 + rest1 * grad;
    moment2 = beta2 * moment2 + rest2 * grad * grad;
    param = keep * param - rate * (moment1 / (std::sqrt(moment2) + epsilon));
  }
};

template <typename T>
struct AdamwFormula {
  FLT_FN static AdamFormula<T> of(const Numbers<T>& n) {
    return AdamFormula<T>(AdamSettings::adamw(n));
  }
};

// An empty `grad` stands for zeros: what happens to the rows that a sparse gradient leaves out.
// REQUIRES: otherwise equal lengths.
void adam(std::span<float> param, std::span<const float> grad, std::span<float> moment1,
          std::span<float> moment2, const Adam<float>& rule);
void adam(std::span<double> param, std::span<const double> grad, std::span<double> moment1,
          std::span<double> moment2, const Adam<double>& rule);

}  // namespace flotilla::update
