// flotilla/update/decayed_adagrad.h
//
// Adagrad that forgets:
//
//   moment = decay * moment + (1 - decay) * grad^2
//   param -= lr * grad / (sqrt(moment) + epsilon)

#pragma once

#include <cmath>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct DecayedAdagradFormula {
  enum { kDecay, kEpsilon };

  T lr, decay, epsilon;

  FLT_FN static DecayedAdagradFormula of(const Numbers<T>& n) {
    return {static_cast<T>(n.lr), n[kDecay], n[kEpsilon]};
  }
  FLT_FN void operator()(T& param, T grad, T& moment) const {
    moment = decay * moment + (1 - decay) * grad * grad;
    param -= lr * grad / (std::sqrt(moment) + epsilon);
  }
};

}  // namespace flotilla::update
