// flotilla/ops/common/softmax_rows.h
//
// Softmax along an axis as a part of larger steps.

#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {

// Raises results to `least`(the largest of their slice), as soon as one is below `bound`.
template <typename T, typename Least>
void keep_near_largest(const Slices& s, T* y, T bound, Least least) {
  const int64_t block = s.n * s.stride;
  parallel_for(s.outer, block, [=](int64_t outer) {
    T* const begin = y + outer * block;
    bool small = false;
    for (int64_t i = 0; i < block; ++i) small |= begin[i] < bound;
    if (!small) return;
    for (int64_t j = 0; j < s.stride; ++j) {
      T max = begin[j];
      for (int64_t i = j; i < block; i += s.stride) max = std::max(max, begin[i]);
      for (int64_t i = j; i < block; i += s.stride) begin[i] = std::max(begin[i], least(max));
    }
  });
}

// Raises the smallest results to exp(-64) / sum, as Paddle does: 0 would have the logarithm of a
// loss and its gradient end in inf * 0. The largest one is 1 / sum.
template <typename T>
void keep_above_zero(const Slices& s, T* y) {
  const T least = std::exp(T{-64});
  keep_near_largest(s, y, least, [=](T max) { return least * max; });
}

// Whether a slice of X is beyond what oneDNN promises to treat as Paddle does: where it holds NaN
// or infinity, or -inf alone, Paddle's softmax is NaN all over.
inline bool has_special_slices(const Slices& s, const float* x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::atomic<bool> finite = true;
  parallel_ranges(s.count() * s.n, kGrainOperations, [&](int64_t begin, int64_t end) {
    bool all = true;
    simd([&] {
      for (int64_t i = begin; i < end; ++i) all &= -kInfinity < x[i] && x[i] < kInfinity;
    });
    if (!all) finite = false;
  });
  if (finite) return false;
  for (int64_t slice = 0; slice < s.count(); ++slice) {
    bool low = true;
    for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride) {
      if (!(x[i] < kInfinity)) return true;
      low &= x[i] == -kInfinity;
    }
    if (low) return true;
  }
  return false;
}

template <typename T>
void plain_softmax(const Slices& s, const T* x, T* y) {
  parallel_for(s.count(), s.n * 16, [=](int64_t slice) {
    const int64_t begin = s.begin(slice), end = s.end(slice);
    T max = x[begin], sum = 0;
    for (int64_t i = begin; i < end; i += s.stride) max = std::max(max, x[i]);
    for (int64_t i = begin; i < end; i += s.stride) {
      y[i] = std::exp(x[i] - max);
      sum += y[i];
    }
    for (int64_t i = begin; i < end; i += s.stride) y[i] /= sum;
  });
}

// In place is fine.
template <typename T>
class SoftmaxRows {
 public:
  SoftmaxRows(PrepareContext&, const Shape& shape, int64_t axis) : slices_(slices(shape, axis)) {}

  void run(const T* x, T* y) const {
    plain_softmax(slices_, x, y);
    keep_above_zero(slices_, y);
  }

 private:
  Slices slices_;
};

template <>
class SoftmaxRows<float> {
 public:
  SoftmaxRows(PrepareContext& c, const Shape& shape, int64_t axis)
      : slices_(slices(shape, axis)),
        softmax_(std::make_shared<onednn::SoftmaxForward>(shape, shape.axis(axis))),
        scratch_(c.workspace(softmax_->scratch_bytes())) {}

  void run(const float* x, float* y) const {
    if (has_special_slices(slices_, x)) {
      plain_softmax(slices_, x, y);
    } else {
      softmax_->run(x, y, scratch_.data());
    }
    keep_above_zero(slices_, y);
  }

 private:
  Slices slices_;
  std::shared_ptr<onednn::SoftmaxForward> softmax_;
  Out<char> scratch_;
};

}  // namespace flotilla::ops
