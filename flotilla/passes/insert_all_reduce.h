// flotilla/passes/insert_all_reduce.h
//
// Makes a training program data parallel: all ranks update their parameters with the same
// gradients, the average of all.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

class DistributedStrategy;
struct PassContext;

struct ExchangeOptions {
  int64_t nranks = 1;

  // The gradient is the average over ranks; otherwise their sum.
  bool average = true;
  // Then the average is over samples: ranks may have batches of different lengths, or none.
  bool by_samples = false;

  // An exchange ends where it stands; otherwise it runs beside the rest of the backward ops.
  bool use_calc_stream = false;
};

// Clipping, decay and updates see what was exchanged. Gradients that are exchanged already stay as
// they are, so that a program with two losses may be handed in after each minimize().
// REQUIRES: the program has backward ops and updates.
void insert_all_reduce(Program& program, const ExchangeOptions& options);

// The same by strategy.gradient_scale_configs and strategy.calc_comm_same_stream.
void insert_all_reduce(PassContext& context);

void check_all_reduce(const DistributedStrategy& strategy);
std::string merging_by_all_reduce(const PassContext& context);

}  // namespace flotilla::passes
