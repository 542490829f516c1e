// flotilla/update/ftrl.h
//
// FTRL-Proximal (McMahan et al., "Ad click prediction: a view from the trenches", 2013), with
// power(s) = s^-lr_power, by default the square root:
//
//   linear += grad - (power(square + grad^2) - power(square)) / lr * param
//   square += grad^2
//   param = |linear| > l1 ? (sign(linear) * l1 - linear) / (power(square) / lr + 2 * l2) : 0

#pragma once

#include <span>

namespace flotilla::update {

template <typename T>
struct Ftrl {
  T lr = 0;
  T l1 = 0;
  T l2 = 0;
  T lr_power = T{-0.5};
};

// REQUIRES: equal lengths.
void ftrl(std::span<float> param, std::span<const float> grad, std::span<float> square,
          std::span<float> linear, const Ftrl<float>& rule);
void ftrl(std::span<double> param, std::span<const double> grad, std::span<double> square,
          std::span<double> linear, const Ftrl<double>& rule);

}  // namespace flotilla::update
