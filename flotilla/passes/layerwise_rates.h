// flotilla/passes/layerwise_rates.h
//
// Updates with a learning rate of their own for each parameter, for large batches: Momentum becomes
// LARS, Adam becomes LAMB.

#pragma once

#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

class DistributedStrategy;
struct PassContext;

struct LarsOptions {
  float coeff = 0.001f;
  float weight_decay = 0.0005f;
  float epsilon = 0;
  // Parameters whose names hold one of these do not decay.
  std::vector<std::string> exclude = {};
};

struct LambOptions {
  float weight_decay = 0.01f;
  // Parameters whose names end with one of these do not decay.
  std::vector<std::string> exclude = {};
};

// The accumulators stay. Both return a sentence for each thing that the program asked for and that
// is not done.
std::vector<std::string> use_lars(Program& program, const LarsOptions& options);
std::vector<std::string> use_lamb(Program& program, const LambOptions& options);

// The same by strategy.lars_configs and strategy.lamb_configs.
void lars(PassContext& context);
void lamb(PassContext& context);

// Refuses both.
void check_layerwise_rates(const DistributedStrategy& strategy);

}  // namespace flotilla::passes
