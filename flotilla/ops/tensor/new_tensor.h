// flotilla/ops/tensor/new_tensor.h
//
// How an operator that makes a tensor takes its extents: from attributes, or from other tensors.

#pragma once

#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {

inline constexpr IntSource kNewShape = {"ShapeTensor", "ShapeTensorList", "shape"};

inline void infer_new(InferContext& c) {
  c.out("Out") = VarMeta::tensor(dtype_attr(c), Shape(extents_of(c, kNewShape)));
}

// Of the forms whose names end in batch_size_like: one extent is that of another tensor.
inline const std::vector<Slot> kBatchInput = {
    {.name = "Input", .doc = "gives one extent", .no_grad = true, .shape_only = true}};
inline const AttrSpec kInputAxis = {"input_dim_idx", int32_t{0},
                                    "the axis of Input whose extent is taken"};
inline const AttrSpec kOutputAxis = {"output_dim_idx", int32_t{0}, "the axis of Out that gets it"};

inline void infer_batch_like(InferContext& c) {
  Shape shape(c.attr<Ints>("shape"));
  const Shape& input = c.in("Input").shape;
  shape[shape.axis(c.attr<int64_t>("output_dim_idx"))] =
      input[input.axis(c.attr<int64_t>("input_dim_idx"))];
  c.out("Out") = VarMeta::tensor(dtype_attr(c), std::move(shape));
}

inline void infer_like_x(InferContext& c) { c.out("Out") = like(c.in("X")); }

}  // namespace flotilla::ops
