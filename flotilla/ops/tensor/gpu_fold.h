// flotilla/ops/tensor/gpu_fold.h
//
// The gradients of tensors that were repeated, on a GPU: sums over copies.

#pragma once

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// Filled in before main() by a build with CUDA (gpu_fold.cu). The variable `i` of X@GRAD gets the
// sums of that of `dout` over the axes along which `to` has extent 1; zeros where there is none.
template <typename T>
inline Step (*gpu_add_up)(PrepareContext& c, const Shape& from, const Shape& to,
                          std::string_view dout, size_t i) = nullptr;

// set_value. The value, in the memory of the GPU or kept here, is repeated into the box: it moves
// by `strides` along the axes of the box.
struct GpuSetValue {
  Step (*forward)(PrepareContext& c, const Box& box, const Ints& strides,
                  std::vector<char> kept) = nullptr;
};
inline GpuSetValue gpu_set_value = {};
template <typename T>
inline Step (*gpu_set_value_backward)(PrepareContext& c, const Box& box,
                                      const Ints& strides) = nullptr;

}  // namespace flotilla::ops
