// flotilla/passes/strategy_support.h
//
// What a strategy asks for that is not there: said in words, never left out in silence.

#pragma once

#include <string>
#include <vector>

#include "flotilla/passes/strategy.h"

namespace flotilla::passes {

// One sentence for each option of collective training that is on and does nothing.
std::vector<std::string> unsupported(const DistributedStrategy& strategy);
std::vector<std::string> unsupported(const FluidStrategy& strategy);
// The same for a job with parameter servers.
std::vector<std::string> unsupported_by_servers(const DistributedStrategy& strategy);

// What a strategy of 1.8 asks for, as one of 2.x.
DistributedStrategy translate(const FluidStrategy& strategy);

// Refuses options that contradict each other or cannot be meant.
void check(const DistributedStrategy& strategy);

}  // namespace flotilla::passes
