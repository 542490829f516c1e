// flotilla/passes/sync_batch_norm.cc
//
//     batch_norm(X=x, ...) -> Y=y, ...              sync_batch_norm(X=x, ...) -> Y=y, ...
//     batch_norm_grad(X=x, Y@GRAD=dy, ...)     ==>  sync_batch_norm_grad(X=x, Y@GRAD=dy, ...)
//
// Slots and attributes are the same. The exchange is part of the ops: sums of x and of its squares
// forward, of dy and of dy * x backward.

#include "flotilla/passes/sync_batch_norm.h"

#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy_check.h"

namespace flotilla::passes {
namespace {

bool uses_statistics_of_the_batch(const Op& op) {
  return !op.attr_or<bool>("is_test", false) && !op.attr_or<bool>("use_global_stats", false);
}

}  // namespace

int64_t sync_batch_norm(Program& program) {
  int64_t count = 0;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const bool forward = op->type() == "batch_norm";
      if (!forward && op->type() != "batch_norm_grad") continue;
      if (!uses_statistics_of_the_batch(*op)) continue;
      op->set_type("sync_" + op->type());
      if (forward) ++count;
    }
  }
  return count;
}

void sync_batch_norm(PassContext& context) { sync_batch_norm(context.main); }

void check_sync_batch_norm(const DistributedStrategy& strategy) {
  refuse_with_samples(strategy, "sync_batch_norm");
}

}  // namespace flotilla::passes
