// flotilla/ops/loss/identity_loss.cc
//
// identity_loss: X is a loss already; its elements are added up, averaged or left as they are.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

enum Reduction : int64_t { kSum = 0, kMean = 1, kNone = 2 };

void infer(InferContext& c) {
  const int64_t how = c.attr<int64_t>("reduction");
  require(kSum <= how && how <= kNone, "reduction must be 0 (sum), 1 (mean) or 2 (none), but is {}",
          how);
  c.out("Out") = how == kNone ? like(c.in("X")) : VarMeta::tensor(c.in("X").dtype, {1});
}

void lower(LowerContext& c) {
  const int64_t how = c.attr<int64_t>("reduction");
  c.result("Out", how == kSum    ? c.apply("reduce_sum", c.in("X"), {{"reduce_all", true}})
                  : how == kMean ? c.apply("mean", c.in("X"))
                                 : c.apply("assign", c.in("X")));
}

const OpDef& identity_loss = define_op({
    .type = "identity_loss",
    .doc = "X as a loss.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1], or X"}},
    .attrs = {{"reduction", int32_t{1}, "0: the sum, 1: the mean, 2: X as it is"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
