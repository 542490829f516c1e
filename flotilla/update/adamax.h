// flotilla/update/adamax.h
//
// Adamax (Kingma and Ba, 2015): Adam with the infinity norm.
//
//   moment = beta1 * moment + (1 - beta1) * grad
//   norm = max(|grad|, beta2 * norm + epsilon)
//   param -= lr / (1 - beta1^t) * moment / norm

#pragma once

#include <cmath>
#include <span>

#include "flotilla/update/betas.h"
#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Adamax {
  T lr = 0;
  T beta1 = kBeta1<T>;
  T beta2 = kBeta2<T>;
  T epsilon = T{1e-8};
  T beta1_power = kBeta1<T>;  // beta1^t in step t, which counts from 1
};

struct AdamaxSettings {
  enum { kFirst, kSecond, kEpsilon };

  template <typename T>
  FLT_FN static Adamax<T> adamax(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr),
            .beta1 = n[kFirst],
            .beta2 = n[kSecond],
            .epsilon = n[kEpsilon],
            .beta1_power = n.powers[0]};
  }
};

template <typename T>
struct AdamaxFormula {
  T beta1, rest1, beta2, epsilon, rate;

  FLT_FN explicit AdamaxFormula(const Adamax<T>& rule)
      : beta1(rule.beta1),
        rest1(1 - rule.beta1),
        beta2(rule.beta2),
        epsilon(rule.epsilon),
        rate(rule.lr / (1 - rule.beta1_power)) {}
  FLT_FN static AdamaxFormula of(const Numbers<T>& n) {
    return AdamaxFormula(AdamaxSettings::adamax(n));
  }

  FLT_FN void operator()(T& param, T grad, T& moment, T& norm) const {
    const T size = std::abs(grad), before = beta2 * norm + epsilon;
    moment = beta1 * moment + rest1 * grad;
    norm = size < before ? before : size;
    param -= rate * (moment / norm);
  }
};

// REQUIRES: equal lengths.
void adamax(std::span<float> param, std::span<const float> grad, std::span<float> moment,
            std::span<float> norm, const Adamax<float>& rule);
void adamax(std::span<double> param, std::span<const double> grad, std::span<double> moment,
            std::span<double> norm, const Adamax<double>& rule);

}  // namespace flotilla::update
