// flotilla/ops/common/softmax_rows.cuh
//
// Softmax of a slice on a GPU, with Paddle's least results (softmax_rows.h).

#pragma once

#include "flotilla/base/half.h"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/slices.cuh"

namespace flotilla::ops {

// What the results of a slice need besides its elements. C is the type that computes.
template <typename C>
struct SoftmaxOf {
  C largest, sum;

  template <typename T>
  __device__ SoftmaxOf(const GroupSlice& slice, const T* x) {
    largest = slice.fold<MaxFold, C>([&](int64_t at) { return widen(x[at]); });
    sum = slice.fold<SumFold, C>([&](int64_t at) { return exp_of(widen(x[at]) - largest); });
  }

  // No less than exp(-64) / sum: 0 would have the logarithm of a loss end in infinity.
  __device__ C chance(C x) const {
    return larger_of(exp_of(x - largest) / sum, exp_of(C{-64}) / sum);
  }
  __device__ C log_chance(C x) const { return larger_of(x - largest, C{-64}) - log_of(sum); }
};

}  // namespace flotilla::ops
