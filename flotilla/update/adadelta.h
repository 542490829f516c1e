// flotilla/update/adadelta.h
//
// Adadelta (Zeiler, 2012):
//
//   square_grad = rho * square_grad + (1 - rho) * grad^2
//   step = -sqrt((square_step + epsilon) / (square_grad + epsilon)) * grad
//   square_step = rho * square_step + (1 - rho) * step^2
//   param += lr * step

#pragma once

#include <span>

namespace flotilla::update {

template <typename T>
struct Adadelta {
  T lr = 1;
  T rho = T{0.95};
  T epsilon = T{1e-6};
};

// REQUIRES: equal lengths.
void adadelta(std::span<float> param, std::span<const float> grad, std::span<float> square_grad,
              std::span<float> square_step, const Adadelta<float>& rule);
void adadelta(std::span<double> param, std::span<const double> grad, std::span<double> square_grad,
              std::span<double> square_step, const Adadelta<double>& rule);

}  // namespace flotilla::update
