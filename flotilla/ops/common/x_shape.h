// flotilla/ops/common/x_shape.h
//
// XShape, which the forms of operators give whose names end in 2: an empty tensor of shape
// [0, extents of X...]. Their gradients need no more of X.

#pragma once

#include "flotilla/op/infer.h"

namespace flotilla::ops {

inline VarMeta x_shape_of(const VarMeta& x) {
  std::vector<int64_t> dims = x.shape.dims();
  dims.insert(dims.begin(), 0);
  return VarMeta::tensor(x.dtype, Shape(std::move(dims)));
}

inline Slot x_shape_slot() {
  return {.name = "XShape",
          .doc = "empty; its shape holds the extents of X",
          .optional = true,
          .no_grad = true};
}

}  // namespace flotilla::ops
