// flotilla/ops/common/p_norm_formulas.h
//
// (sum |x|^p)^(1/p); the number of elements that are not zero for p = 0, extremes for infinity.

#pragma once

#include <cmath>

#include "flotilla/ops/common/fold_formulas.h"

namespace flotilla::ops {

struct PNorm {
  double p = 2;

  FLT_FN double start() const { return std::isinf(p) && p < 0 ? -p : 0; }
  FLT_FN double term(double x) const {
    const double size = std::fabs(x);
    if (std::isinf(p) || p == 1) return size;
    if (p == 0) return size != 0;
    return p == 2 ? size * size : std::pow(size, p);
  }
  FLT_FN double fold(double total, double term) const {
    if (!std::isinf(p)) return total + term;
    return p > 0 ? MaxFold::fold(total, term) : MinFold::fold(total, term);
  }
  FLT_FN double end(double total) const {
    const bool is_root = !std::isinf(p) && p != 0 && p != 1;
    return !is_root ? total : p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
  }
};

template <typename T>
FLT_FN T norm_slope(T x, T norm, T p, T epsilon) {
  const T size = std::fabs(x), sign = static_cast<T>((x > 0) - (x < 0));
  if (p == 0) return T{0};
  if (std::isinf(p)) return size == norm ? sign : T{0};
  if (p == 1) return sign;
  if (p == 2) return x / (norm + epsilon);
  return size == 0 ? T{0} : sign * std::pow(size, p - T{1}) / (std::pow(norm, p - T{1}) + epsilon);
}

}  // namespace flotilla::ops
