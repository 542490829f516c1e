// flotilla/ops/nn/softmax_rows.h
//
// Softmax along an axis as a part of larger steps.

#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/slices.h"

namespace flotilla::ops {

// In place is fine.
template <typename T>
class SoftmaxRows {
 public:
  SoftmaxRows(PrepareContext&, const Shape& shape, int64_t axis) : slices_(slices(shape, axis)) {}

  void run(const T* x, T* y) const {
    const Slices s = slices_;
    parallel_for(s.count(), [=](int64_t slice) {
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

 private:
  Slices slices_;
};

template <>
class SoftmaxRows<float> {
 public:
  SoftmaxRows(PrepareContext& c, const Shape& shape, int64_t axis)
      : softmax_(std::make_shared<onednn::SoftmaxForward>(shape, shape.axis(axis))),
        scratch_(c.workspace(softmax_->scratch_bytes())) {}

  void run(const float* x, float* y) const { softmax_->run(x, y, scratch_.data()); }

 private:
  std::shared_ptr<onednn::SoftmaxForward> softmax_;
  Out<char> scratch_;
};

}  // namespace flotilla::ops
