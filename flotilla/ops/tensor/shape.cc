// flotilla/ops/tensor/shape.cc
//
// shape, size and is_empty: what is known of a tensor without its elements, as a tensor.

#include <algorithm>

#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

void infer_shape(InferContext& c) {
  const Shape& input = c.in("Input").shape;
  VarMeta out = VarMeta::tensor(i32, {input.rank()});
  if (c.running()) remember(out, input.dims());
  c.out("Out") = std::move(out);
}

void infer_size(InferContext& c) {
  VarMeta out = VarMeta::tensor(i64, {1});
  if (c.running()) remember(out, Ints{c.in("Input").shape.numel()});
  c.out("Out") = std::move(out);
}

Step prepare_shape(PrepareContext& c) {
  const Ints dims = c.shape("Input").dims();
  return [dims, out = c.out<int32_t>("Out")] {
    std::transform(dims.begin(), dims.end(), out.data(),
                   [](int64_t extent) { return static_cast<int32_t>(extent); });
  };
}

Step prepare_size(PrepareContext& c) {
  return [numel = c.shape("Input").numel(), out = c.out<int64_t>("Out")] { *out.data() = numel; };
}

const Slot kInput = {
    .name = "Input", .doc = "tensor of any dtype", .no_grad = true, .shape_only = true};

void infer_empty(InferContext& c) { c.out("Out") = VarMeta::tensor(boolean, {1}); }

Step prepare_empty(PrepareContext& c) {
  return [empty = c.shape("X").numel() == 0, out = c.out<bool>("Out")] { *out.data() = empty; };
}

const OpDef& shape = define_op({
    .type = "shape",
    .doc = "The extents of Input.",
    .inputs = {kInput},
    .outputs = {{.name = "Out", .doc = "int32, one element for each axis"}},
    .infer = infer_shape,
    .kernels = every_dtype(prepare_shape),
});

const OpDef& size = define_op({
    .type = "size",
    .doc = "The number of elements of Input.",
    .inputs = {kInput},
    .outputs = {{.name = "Out", .doc = "int64 of shape [1]"}},
    .infer = infer_size,
    .kernels = every_dtype(prepare_size),
});

const OpDef& is_empty = define_op({
    .type = "is_empty",
    .doc = "Whether X has no elements.",
    .inputs = {{.name = "X", .doc = "tensor of any dtype", .no_grad = true, .shape_only = true}},
    .outputs = {{.name = "Out", .doc = "bool of shape [1]", .no_grad = true}},
    .infer = infer_empty,
    .kernels = every_dtype(prepare_empty),
});

}  // namespace
}  // namespace flotilla::ops
