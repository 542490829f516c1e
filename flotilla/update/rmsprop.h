// flotilla/update/rmsprop.h
//
// RMSProp (Tieleman and Hinton, 2012), plain and centered (Graves, 2013):
//
//   mean_square = decay * mean_square + (1 - decay) * grad^2
//   mean_grad = decay * mean_grad + (1 - decay) * grad                       centered, else 0
//   moment = momentum * moment + lr * grad / sqrt(mean_square - mean_grad^2 + epsilon)
//   param -= moment

#pragma once

#include <span>

namespace flotilla::update {

template <typename T>
struct Rmsprop {
  T lr = 0;
  T decay = T{0.9};
  T momentum = 0;
  T epsilon = T{1e-10};
};

// An empty `mean_grad` means not centered. An empty `grad` stands for zeros: what happens to the
// rows that a sparse gradient leaves out. REQUIRES: otherwise equal lengths.
void rmsprop(std::span<float> param, std::span<const float> grad, std::span<float> mean_square,
             std::span<float> mean_grad, std::span<float> moment, const Rmsprop<float>& rule);
void rmsprop(std::span<double> param, std::span<const double> grad, std::span<double> mean_square,
             std::span<double> mean_grad, std::span<double> moment, const Rmsprop<double>& rule);

}  // namespace flotilla::update
