// flotilla/update/momentum.h
//
// Momentum, with Nesterov's look-ahead and L2 decay that enters the velocity:
//
//   g' = rescale * grad + l2 * param
//   velocity = mu * velocity + g'
//   param -= lr * velocity              plain
//   param -= lr * (g' + mu * velocity)  Nesterov

#pragma once

#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Momentum {
  T lr = 0;
  T mu = 0;
  bool nesterov = false;
  T l2 = 0;
  T rescale = 1;
};

struct MomentumSettings {
  enum { kMu, kNesterov, kMethod, kCoeff, kMultiPrecision, kRescale };

  template <typename T>
  FLT_FN static Momentum<T> momentum(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr),
            .mu = n[kMu],
            .nesterov = n[kNesterov] != 0,
            .l2 = n.l2,
            .rescale = n[kRescale]};
  }
};

template <typename T>
struct MomentumFormula {
  Momentum<T> rule;

  FLT_FN static MomentumFormula of(const Numbers<T>& n) { return {MomentumSettings::momentum(n)}; }

  // Where it is known outside of a loop whether there is Nesterov's look-ahead.
  template <bool kNesterov>
  FLT_FN void step(T& param, T grad, T& velocity) const {
    const T gradient = rule.rescale * grad + rule.l2 * param;
    velocity = rule.mu * velocity + gradient;
    param -= rule.lr * (kNesterov ? gradient + rule.mu * velocity : velocity);
  }
  FLT_FN void operator()(T& param, T grad, T& velocity) const {
    rule.nesterov ? step<true>(param, grad, velocity) : step<false>(param, grad, velocity);
  }
};

// An empty `grad` stands for zeros: what happens to the rows that a sparse gradient leaves out.
// REQUIRES: otherwise equal lengths.
void momentum(std::span<float> param, std::span<const float> grad, std::span<float> velocity,
              const Momentum<float>& rule);
void momentum(std::span<double> param, std::span<const double> grad, std::span<double> velocity,
              const Momentum<double>& rule);

}  // namespace flotilla::update
