// is_empty: whether a tensor has no elements.

#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

void infer_empty(InferContext& c) { c.out("Out") = VarMeta::tensor(boolean, {1}); }

Step prepare_empty(PrepareContext& c) {
  return [empty = c.shape("X").numel() == 0, out = c.out<bool>("Out")] { *out.data() = empty; };
}

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
