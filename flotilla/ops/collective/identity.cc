// c_identity: with mp_allreduce_sum it stands between layers whose weights are shared out
// (Megatron-LM: Shoeybi et al., 2019). Before them the gradients add up, behind them the results
// do.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

const OpDef& c_identity = define_collective(
    {.type = "c_identity",
     .doc = "Out is X; its gradient is the sum of those of all processes.",
     .attrs = {kRingId, kAtOnce, kModelParallel},
     .kernels = every_dtype(identity),
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_allreduce_sum"); })});

}  // namespace
}  // namespace flotilla::ops
