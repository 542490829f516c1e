// flotilla/ops/common/slices.cuh
//
// The slices of slices.h in a kernel, each worked on by a thread or a group of them.

#pragma once

#include "flotilla/base/host_device.h"
#include "flotilla/device/cuda/reduce.cuh"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {

struct GpuSlices {
  int64_t count = 0, n = 0, stride = 1;

  GpuSlices(const Slices& s) : count(s.count()), n(s.n), stride(s.stride) {}  // NOLINT: the same

  // Groups for all slices.
  cuda::GroupShape groups() const { return cuda::group_shape(count, n, stride == 1); }
  FLT_FN int64_t numel() const { return count * n; }

  __device__ int64_t begin(int64_t slice) const {
    const int64_t outer = cuda::quotient(slice, stride);
    return outer * n * stride + (slice - outer * stride);
  }
  // Where an element of the tensor stands.
  struct Place {
    int64_t slice, i;
  };
  __device__ Place place(int64_t element) const {
    const int64_t row = cuda::quotient(element, stride), outer = cuda::quotient(row, n);
    return {outer * stride + (element - row * stride), row - outer * n};
  }
};

// The slice that a thread's group works on, and the lane's turns at its elements.
class GroupSlice {
 public:
  __device__ GroupSlice(const cuda::GroupShape& shape, const GpuSlices& slices)
      : group_(shape), number_(group_.number()), here_(number_ < slices.count) {
    if (!here_) return;
    step_ = slices.stride * group_.lanes();
    begin_ = slices.begin(number_);
    first_ = begin_ + group_.lane() * slices.stride;
    end_ = begin_ + slices.n * slices.stride;
  }

  __device__ int64_t number() const { return number_; }
  // Whether there is one, and this thread speaks for it.
  __device__ bool leads() const { return here_ && group_.lane() == 0; }
  __device__ bool here() const { return here_; }
  __device__ int64_t begin() const { return begin_; }

  // Calls f(at) for this lane's elements.
  template <typename F>
  __device__ void each(F f) const {
    for (int64_t at = first_; at < end_; at += step_) f(at);
  }
  // The fold of f(at) over all elements of the slice, for each lane. All threads of a block call
  // it.
  template <typename Fold, typename Acc, typename F>
  __device__ Acc fold(F f) const {
    Acc total = Fold::template start<Acc>();
    each([&](int64_t at) { total = Fold::fold(total, f(at)); });
    return group_.template fold<Fold>(total);
  }

 private:
  cuda::Group group_;
  int64_t number_;
  bool here_;
  int64_t begin_ = 0, first_ = 0, end_ = 0, step_ = 1;
};

}  // namespace flotilla::ops
