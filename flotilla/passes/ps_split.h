// flotilla/passes/ps_split.h
//
// Makes a training program that of a worker whose parameters live on servers.

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/passes/ps_tables.h"

namespace flotilla::passes {

enum class PsMode {
  kSync,   // all workers' gradients of a step make one update
  kAsync,  // each push is an update
  kGeo,    // workers update their own copies and exchange what has changed every k steps
};

struct PsOptions {
  PsMode mode = PsMode::kAsync;
  int64_t geo_steps = 100;
};

// Rewrites both programs and returns the tables that servers must have. The ops of a worker:
//
//   distributed_lookup_table  Ids list, W -> Outputs list       table_id, padding_idx, is_test,
//                                                               lookup_table_version
//   distributed_push_sparse   Ids list, Grads list, LearningRate      table_id, padding_idx, size
//   send                      X list of gradients, LearningRate       table_id
//   send_barrier              waits until the round is over; sync only
//   recv                      -> Out list of parameters               table_id
//   geo_sgd                   X list of parameters [, Ids list] -> Out list, the same
//                                                               table_id, k_steps
//   fake_init                 -> Out: a sparse table, which the worker does not hold
//
// Clipping and the decay of dense parameters stay with the worker, on its own gradients.
std::vector<ServerTable> ps_split(Program& main, Program& startup, const PsOptions& options);

}  // namespace flotilla::passes
