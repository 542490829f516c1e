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

namespace flotilla::update {

template <typename T>
struct Momentum {
  T lr = 0;
  T mu = 0;
  bool nesterov = false;
  T l2 = 0;
  T rescale = 1;
};

// An empty `grad` stands for zeros: what happens to the rows that a sparse gradient leaves out.
// REQUIRES: otherwise equal lengths.
void momentum(std::span<float> param, std::span<const float> grad, std::span<float> velocity,
              const Momentum<float>& rule);
void momentum(std::span<double> param, std::span<const double> grad, std::span<double> velocity,
              const Momentum<double>& rule);

}  // namespace flotilla::update
