// flotilla/passes/ps_split.h
//
// Makes a training program that of a worker whose parameters live on servers.

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/passes/ps_tables.h"

namespace flotilla::passes {

struct PassContext;

enum class PsMode {
  kSync,       // all workers' gradients of a step make one update
  kAsync,      // each push is an update; values come in now and then
  kHalfAsync,  // each push is an update; the step waits for it. The program is that of kAsync
  kGeo,        // workers update their own copies and exchange what has changed every k steps
};

struct PsOptions {
  PsMode mode = PsMode::kAsync;
  int64_t geo_steps = 100;

  // How a worker sends. Asynchronous: steps that may wait to be sent, how many of them may become
  // one push, and with every how many pushes the dense values are asked for.
  int64_t send_queue = 0;
  int64_t max_merge = 1;
  int64_t pushes_per_refresh = 1;

  bool operator==(const PsOptions&) const = default;
};

// Rewrites both programs and returns the tables that servers must have. The ops of a worker:
//
//   distributed_lookup_table  Ids list, W list -> Outputs list  table_id, padding_idx, or for
//   several
//                                                               tables table_ids, padding_idxs,
//                                                               slots; is_test,
//                                                               lookup_table_version
//   distributed_push_sparse   Ids list, Grads list, Rows list, LearningRate
//                                                               table_id, padding_idx, size
//   send                      X list of gradients, LearningRate       table_id
//   send_barrier              X list: what the others note, kept until then. Ends the step
//   recv                      X list of parameters -> Out list, the same         table_id
//   geo_sgd                   X list of parameters [, Ids list] -> Out list, the same
//                                                               table_id, k_steps
//   fake_init                 -> Out: a sparse table, which the worker does not hold
//                                                               shape, dtype, draws, seed
//
// Clipping and the decay of dense parameters stay with the worker, on its own gradients.
std::vector<ServerTable> ps_split(Program& main, Program& startup, const PsOptions& options);
// The same by context.servers; the tables go into context.tables.
void ps_split(PassContext& context);

// For a program that only looks, e.g. a clone for tests that was made before ps_split: lookups of
// the sparse tables go to servers, and leave keys that are new without a row.
void look_up_on_servers(Program& program, const std::vector<ServerTable>& tables);

// The other way round, for a model that brings its tables along.
void look_up_here(Program& program);

}  // namespace flotilla::passes
