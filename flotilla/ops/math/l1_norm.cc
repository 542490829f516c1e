// l1_norm: the sum of the sizes of all elements.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void lower_l1(LowerContext& c) { c.result("Out", c.sum(c.apply("abs", c.in("X")), {})); }

const OpDef& l1_norm = define_op({
    .type = "l1_norm",
    .doc = "The sum of the sizes of all elements.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .infer = [](InferContext& c) { c.out("Out") = VarMeta::tensor(c.dtype("X"), {1}); },
    .grad = grad_of_body(),
    .lower = lower_l1,
});

}  // namespace
}  // namespace flotilla::ops
