// flotilla/testing/moments.h
//
// What tests ask of random numbers.

#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "flotilla/testing/tensors.h"

namespace flotilla {

struct Moments {
  double mean = 0, deviation = 0, least = 0, largest = 0;
};

inline Moments moments(const Tensor& tensor) {
  const std::vector<double> x = values_of(tensor);
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  const auto [least, largest] = std::minmax_element(x.begin(), x.end());
  return {mean, std::sqrt(squares / n), *least, *largest};
}

}  // namespace flotilla
