// flotilla/passes/local_sgd.h
//
// Ranks train on their own and average their parameters now and then.

#pragma once

#include <cstdint>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

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

}  // namespace flotilla::passes
