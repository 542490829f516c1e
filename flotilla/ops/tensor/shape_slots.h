// flotilla/ops/tensor/shape_slots.h
//
// How an operator that makes a tensor takes its shape from other tensors.

#pragma once

#include <vector>

#include "flotilla/op/op_def.h"

namespace flotilla::ops {

// The two slots, behind those in `first`.
inline std::vector<Slot> with_shape_slots(std::vector<Slot> first = {}) {
  first.push_back({.name = "ShapeTensor",
                   .doc = "extents, instead of `shape`",
                   .optional = true,
                   .no_grad = true});
  first.push_back({.name = "ShapeTensorList",
                   .doc = "one tensor for each extent, instead of `shape`",
                   .optional = true,
                   .list = true,
                   .no_grad = true});
  return first;
}

}  // namespace flotilla::ops
