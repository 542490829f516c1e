// flotilla/ops/common/labels.cuh
//
// Class numbers, as i64 or i32, in a kernel. One that is no class is passed over, as if it were to
// be ignored: a GPU cannot refuse it.

#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

struct Labels {
  const int64_t* wide = nullptr;
  const int32_t* narrow = nullptr;

  __device__ int64_t operator[](int64_t i) const { return wide != nullptr ? wide[i] : narrow[i]; }
  // -1: ignored, or no class.
  __device__ int64_t counted(int64_t i, int64_t classes, int64_t ignored) const {
    const int64_t label = (*this)[i];
    return label == ignored || label < 0 || label >= classes ? -1 : label;
  }
};

class GpuLabels {
 public:
  GpuLabels() = default;
  GpuLabels(PrepareContext& c, std::string_view slot)
      : wide_(c.dtype(slot) == i64 ? c.in<int64_t>(slot) : In<int64_t>()),
        narrow_(c.dtype(slot) == i64 ? In<int32_t>() : c.in<int32_t>(slot)) {}

  // What a kernel takes; read when the Step runs.
  Labels get() const {
    if (wide_) return {wide_.data(), nullptr};
    return {nullptr, narrow_ ? narrow_.data() : nullptr};
  }

 private:
  In<int64_t> wide_;
  In<int32_t> narrow_;
};

}  // namespace flotilla::ops
