// flotilla/update/adagrad.h
//
// Adagrad (Duchi, Hazan and Singer, 2011):
//
//   moment += grad^2
//   param -= lr * grad / (sqrt(moment) + epsilon)

#pragma once

#include <span>

namespace flotilla::update {

template <typename T>
struct Adagrad {
  T lr = 0;
  T epsilon = T{1e-6};
};

// REQUIRES: equal lengths.
void adagrad(std::span<float> param, std::span<const float> grad, std::span<float> moment,
             const Adagrad<float>& rule);
void adagrad(std::span<double> param, std::span<const double> grad, std::span<double> moment,
             const Adagrad<double>& rule);

}  // namespace flotilla::update
