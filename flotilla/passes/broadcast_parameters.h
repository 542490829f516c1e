// flotilla/passes/broadcast_parameters.h
//
// Lets all ranks start from the same values: those that rank 0 drew.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

struct PassContext;

struct BroadcastOptions {
  int64_t rank = 0;
  int64_t nranks = 1;
  // Of all ranks, in their order; empty where nobody knows them.
  std::vector<std::string> endpoints = {};
};

// Every persistable tensor that the startup program initialises, parameters and the state of
// optimizers, is sent from rank 0 to all. What is sent already is not sent again, so that the
// program may be handed in after each minimize().
void broadcast_parameters(Program& startup, const BroadcastOptions& options);

void broadcast_parameters(PassContext& context);

}  // namespace flotilla::passes
