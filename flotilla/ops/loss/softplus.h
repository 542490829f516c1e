// flotilla/ops/loss/softplus.h
//
// log(1 + exp(x)) without overflow on either side; log(sigmoid(x)) is -softplus(-x).

#pragma once

#include <algorithm>
#include <cmath>

namespace flotilla::ops {

template <typename T>
T softplus(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace flotilla::ops
