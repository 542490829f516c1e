// flotilla/update/rmsprop.h
//
// RMSProp (Tieleman and Hinton, 2012), plain and centered (Graves, 2013):
//
//   mean_square = decay * mean_square + (1 - decay) * grad^2
//   mean_grad = decay * mean_grad + (1 - decay) * grad                       centered, else 0
//   moment = momentum * moment + lr * grad / sqrt(mean_square - mean_grad^2 + epsilon)
//   param -= moment

#pragma once

#include <cmath>
#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Rmsprop {
  T lr = 0;
  T decay = T{0.9};
  T momentum = 0;
  T epsilon = T{1e-10};
};

struct RmspropSettings {
  enum { kEpsilon, kDecay, kMomentum, kCentered };

  template <typename T>
  FLT_FN static Rmsprop<T> rmsprop(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr),
            .decay = n[kDecay],
            .momentum = n[kMomentum],
            .epsilon = n[kEpsilon]};
  }
};

template <typename T>
struct RmspropFormula {
  T lr, decay, rest, momentum, epsilon;
  bool centered;

  FLT_FN RmspropFormula(const Rmsprop<T>& rule, bool centered)
      : lr(rule.lr),
        decay(rule.decay),
        rest(1 - rule.decay),
        momentum(rule.momentum),
        epsilon(rule.epsilon),
        centered(centered) {}
  FLT_FN static RmspropFormula of(const Numbers<T>& n) {
    return RmspropFormula(RmspropSettings::rmsprop(n), n[RmspropSettings::kCentered] != 0);
  }

  // Where it is known outside of a loop; `mean` counts only where centered.
  template <bool kCentered>
  FLT_FN void step(T& param, T grad, T& square, T& moment, T& mean) const {
    square = decay * square + rest * grad * grad;
    T spread = square;
    if constexpr (kCentered) {
      mean = decay * mean + rest * grad;
      spread -= mean * mean;
    }
    moment = momentum * moment + lr * grad / std::sqrt(spread + epsilon);
    param -= moment;
  }
  FLT_FN void operator()(T& param, T grad, T& square, T& moment, T& mean) const {
    centered ? step<true>(param, grad, square, moment, mean)
             : step<false>(param, grad, square, moment, mean);
  }
};

// An empty `mean_grad` means not centered. An empty `grad` stands for zeros: what happens to the
// rows that a sparse gradient leaves out. REQUIRES: otherwise equal lengths.
void rmsprop(std::span<float> param, std::span<const float> grad, std::span<float> mean_square,
             std::span<float> mean_grad, std::span<float> moment, const Rmsprop<float>& rule);
void rmsprop(std::span<double> param, std::span<const double> grad, std::span<double> mean_square,
             std::span<double> mean_grad, std::span<double> moment, const Rmsprop<double>& rule);

}  // namespace flotilla::update
