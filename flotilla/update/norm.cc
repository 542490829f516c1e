#include "flotilla/update/norm.h"

#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

constexpr size_t kLanes = 16;

template <typename T>
FLT_UPDATE_BODY double body(const T* values, size_t n) {
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < n; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

FLT_UPDATE_CLONES double loop(const float* values, size_t n) { return body(values, n); }
FLT_UPDATE_CLONES double loop(const double* values, size_t n) { return body(values, n); }

}  // namespace

double sum_of_squares(std::span<const float> values) { return loop(values.data(), values.size()); }
double sum_of_squares(std::span<const double> values) { return loop(values.data(), values.size()); }

}  // namespace flotilla::update
