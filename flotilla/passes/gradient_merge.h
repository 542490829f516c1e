// flotilla/passes/gradient_merge.h
//
// One update for the gradients of several steps: a large batch in small pieces.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

class DistributedStrategy;
struct PassContext;

struct MergeOptions {
  int64_t steps = 1;
  bool average = true;  // otherwise the update sees their sum
};

// Where ranks exchange gradients it is insert_all_reduce that runs after this: they exchange what
// was merged, in the steps that update. REQUIRES: the program has updates, none merged before.
void gradient_merge(Program& main, Program& startup, const MergeOptions& options);

// The same by strategy.gradient_merge_configs.
void gradient_merge(PassContext& context);

void check_gradient_merge(const DistributedStrategy& strategy);
std::string merging_by_gradient_merge(const PassContext& context);

}  // namespace flotilla::passes
