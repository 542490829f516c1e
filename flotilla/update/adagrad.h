// flotilla/update/adagrad.h
//
// Adagrad (Duchi, Hazan and Singer, 2011):
//
//   moment += grad^2
//   param -= lr * grad / (sqrt(moment) + epsilon)

#pragma once

#include <cmath>
#include <span>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

template <typename T>
struct Adagrad {
  T lr = 0;
  T epsilon = T{1e-6};
};

struct AdagradSettings {
  enum { kEpsilon };

  template <typename T>
  FLT_FN static Adagrad<T> adagrad(const Numbers<T>& n) {
    return {.lr = static_cast<T>(n.lr), .epsilon = n[kEpsilon]};
  }
};

template <typename T>
struct AdagradFormula {
  Adagrad<T> rule;

  FLT_FN static AdagradFormula of(const Numbers<T>& n) { return {AdagradSettings::adagrad(n)}; }

  FLT_FN void operator()(T& param, T grad, T& moment) const {
    moment += grad * grad;
    param -= rule.lr * grad / (std::sqrt(moment) + rule.epsilon);
  }
};

// REQUIRES: equal lengths.
void adagrad(std::span<float> param, std::span<const float> grad, std::span<float> moment,
             const Adagrad<float>& rule);
void adagrad(std::span<double> param, std::span<const double> grad, std::span<double> moment,
             const Adagrad<double>& rule);

}  // namespace flotilla::update
