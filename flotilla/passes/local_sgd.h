// flotilla/passes/local_sgd.h
//
// Ranks train on their own and average their parameters now and then.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

class DistributedStrategy;
class FluidStrategy;
struct PassContext;

struct LocalSgdOptions {
  int64_t nranks = 1;
  int64_t steps = 1;  // between two exchanges
  int64_t begin = 1;  // up to this step, which counts from 1, parameters are exchanged in every one
};

// Instead of insert_all_reduce. REQUIRES: the program has updates.
void local_sgd(Program& main, Program& startup, const LocalSgdOptions& options);

// The same by strategy.localsgd_configs.
void local_sgd(PassContext& context);

void check_local_sgd(const DistributedStrategy& strategy);
// The mode of 1.8, too. Refuses a mode that is not known.
bool wants_local_sgd(const FluidStrategy& strategy);
std::string merging_by_local_sgd(const PassContext& context);

}  // namespace flotilla::passes
