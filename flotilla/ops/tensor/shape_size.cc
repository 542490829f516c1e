// flotilla/ops/tensor/shape_size.cc
//
// shape and size: the extents of a tensor and the number of its elements, as a tensor.

#include <algorithm>

#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

const Slot kInput = {
    .name = "Input", .doc = "tensor of any dtype", .no_grad = true, .shape_only = true};

void infer_shape(InferContext& c) {
  const Shape& input = c.in("Input").shape;
  VarMeta out = VarMeta::tensor(i32, {input.rank()});
  if (c.running()) remember(out, input.dims());
  c.out("Out") = std::move(out);
}

Step prepare_shape(PrepareContext& c) {
  const Ints dims = c.shape("Input").dims();
  return [dims, out = c.out<int32_t>("Out")] {
    std::transform(dims.begin(), dims.end(), out.data(),
                   [](int64_t extent) { return static_cast<int32_t>(extent); });
  };
}

const OpDef& shape = define_op({
    .type = "shape",
    .doc = "The extents of Input.",
    .inputs = {kInput},
    .outputs = {{.name = "Out", .doc = "int32, one element for each axis"}},
    .infer = infer_shape,
    .kernels = every_dtype(prepare_shape),
});

void infer_size(InferContext& c) {
  VarMeta out = VarMeta::tensor(i64, {1});
  if (c.running()) remember(out, Ints{c.in("Input").shape.numel()});
  c.out("Out") = std::move(out);
}

Step prepare_size(PrepareContext& c) {
  return [numel = c.shape("Input").numel(), out = c.out<int64_t>("Out")] { *out.data() = numel; };
}

const OpDef& size = define_op({
    .type = "size",
    .doc = "The number of elements of Input.",
    .inputs = {kInput},
    .outputs = {{.name = "Out", .doc = "int64 of shape [1]"}},
    .infer = infer_size,
    .kernels = every_dtype(prepare_size),
});

}  // namespace
}  // namespace flotilla::ops
