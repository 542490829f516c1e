// flotilla/ops/tensor/new_tensor.h
//
// How an operator that makes a tensor takes its extents: from attributes, or from other tensors.

#pragma once

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {

inline constexpr IntSource kNewShape = {"ShapeTensor", "ShapeTensorList", "shape"};

inline void infer_new(InferContext& c) {
  c.out("Out") = VarMeta::tensor(dtype_attr(c), Shape(extents_of(c, kNewShape)));
}

// A scalar has one axis here; programs of later releases of Paddle give it none.
inline Shape scalar_or(Ints extents) {
  if (extents.empty()) return {1};
  return Shape(std::move(extents));
}

// Of the forms whose names end in batch_size_like: one extent is that of another tensor.
inline const std::vector<Slot> kBatchInput = {
    {.name = "Input", .doc = "gives one extent", .no_grad = true, .shape_only = true}};
inline const AttrSpec kInputAxis = {"input_dim_idx", int32_t{0},
                                    "the axis of Input whose extent is taken"};
inline const AttrSpec kOutputAxis = {"output_dim_idx", int32_t{0}, "the axis of Out that gets it"};

inline std::vector<AttrSpec> with_batch_axes(std::vector<AttrSpec> attrs) {
  return joined(std::move(attrs), {kInputAxis, kOutputAxis});
}

inline void infer_batch_like(InferContext& c) {
  Shape shape(c.attr<Ints>("shape"));
  const Shape& input = c.in("Input").shape;
  shape[shape.axis(c.attr<int64_t>("output_dim_idx"))] =
      input[input.axis(c.attr<int64_t>("input_dim_idx"))];
  c.out("Out") = VarMeta::tensor(dtype_attr(c), std::move(shape));
}

inline void infer_like_x(InferContext& c) { c.out("Out") = like(c.in("X")); }

// Of operators that overwrite what they take. Some write their slots small.
inline void lower_to_zeros(LowerContext& c) {
  const bool small = c.has("out@GRAD");
  c.result(small ? "x@GRAD" : "X@GRAD",
           c.apply("fill_zeros_like", c.in(small ? "out@GRAD" : "Out@GRAD")));
}
// REQUIRES: the output is `like` the input.
inline GradRule zero_gradient() { return grad_op({}, {.lower = lower_to_zeros}); }

}  // namespace flotilla::ops
