// flotilla/ops/fused/fc_column.h
//
// fc with one column, as at the top of models that tell one chance or price: products of a matrix
// with a vector, which are bound by reading the matrix once. A matrix product is several times
// slower there.

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"

namespace flotilla::ops {

// Partial sums of a dot product: the same bits on any number of threads.
inline constexpr int64_t kColumnLanes = 32;
// Parts of the rows whose sums are added in order; for the same reason.
inline constexpr int64_t kColumnParts = 8;

FLT_INLINE float dot(const float* FLT_RESTRICT x, const float* FLT_RESTRICT w, int64_t k) {
  float lanes[kColumnLanes] = {};
  int64_t i = 0;
  for (; i + kColumnLanes <= k; i += kColumnLanes) {
    for (int64_t l = 0; l < kColumnLanes; ++l) lanes[l] += x[i + l] * w[i + l];
  }
  for (int64_t l = 0; i < k; ++i, ++l) lanes[l] += x[i] * w[i];
  for (int64_t half = kColumnLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// y[row] = act(x[row] . w + bias)
template <typename Act>
void column_forward(const float* x, const float* w, float bias, float* y, int64_t m, int64_t k,
                    Act act) {
  const int64_t grain = std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(1, k));
  parallel_ranges(m, grain, [=](int64_t begin, int64_t end) {
    simd([=] {
      for (int64_t row = begin; row < end; ++row) y[row] = act(dot(x + row * k, w, k) + bias);
    });
  });
}

struct ColumnGrads {
  float* dx = nullptr;       // [m, k]; null: not wanted
  float* partial = nullptr;  // kColumnParts * (k + 1): of dW and, last, of dBias
  float* dw = nullptr;       // [k]; null: not wanted
  float* dbias = nullptr;    // [1]; null: not wanted
};

// With d[row] = derivative(row): dX[row] = d[row] w, dW = sum d[row] x[row], dBias = sum d[row].
template <typename Derivative>
void column_backward(const float* x, const float* w, const ColumnGrads& to, int64_t m, int64_t k,
                     Derivative derivative) {
  const int64_t grain =
      std::max<int64_t>(1, kGrainOperations * kColumnParts / std::max<int64_t>(1, 4 * m * k));
  parallel_ranges(kColumnParts, grain, [=](int64_t first, int64_t last) {
    simd([=] {
      for (int64_t part = first; part < last; ++part) {
        float* FLT_RESTRICT sums = to.partial + part * (k + 1);
        std::fill_n(sums, k + 1, 0.0f);
        for (int64_t row = m * part / kColumnParts; row < m * (part + 1) / kColumnParts; ++row) {
          const float d = derivative(row);
          const float* FLT_RESTRICT from = x + row * k;
          sums[k] += d;
          if (to.dw != nullptr) {
            for (int64_t i = 0; i < k; ++i) sums[i] += d * from[i];
          }
          if (to.dx != nullptr) {
            float* FLT_RESTRICT dx = to.dx + row * k;
            for (int64_t i = 0; i < k; ++i) dx[i] = d * w[i];
          }
        }
      }
    });
  });
  const auto total = [=](int64_t i) {
    float sum = 0;
    for (int64_t part = 0; part < kColumnParts; ++part) sum += to.partial[part * (k + 1) + i];
    return sum;
  };
  simd([=] {
    for (int64_t i = 0; i < k && to.dw != nullptr; ++i) to.dw[i] = total(i);
  });
  if (to.dbias != nullptr) *to.dbias = total(k);
}

}  // namespace flotilla::ops
