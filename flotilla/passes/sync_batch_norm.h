// flotilla/passes/sync_batch_norm.h
//
// Batch norm over the batches of all ranks.

#pragma once

#include "flotilla/ir/program.h"

namespace flotilla::passes {

class DistributedStrategy;
struct PassContext;

// Returns how many were found. Those that use their running statistics stay as they are.
int64_t sync_batch_norm(Program& program);

void sync_batch_norm(PassContext& context);

void check_sync_batch_norm(const DistributedStrategy& strategy);

}  // namespace flotilla::passes
