// flotilla/fleet/pipeline.h
//
// Which passes make a program of one process a program of many: one table, in order.

#pragma once

#include <string>
#include <vector>

#include "flotilla/fleet/role.h"
#include "flotilla/ir/program.h"
#include "flotilla/passes/strategy.h"

namespace flotilla::fleet {

// What was done, for whoever prints it.
struct Applied {
  // Names, in the order in which they ran.
  std::vector<std::string> passes = {};

  // What the strategy asks for and does not get, and what gave way; one sentence each.
  std::vector<std::string> notices = {};

  // "Find all_reduce operators: 161. ...": what Paddle says when the program runs for the first
  // time; "" where no exchanges were fused.
  std::string fusion = {};

  // "gradients are averaged over workers": how what workers have learned is merged; "" for one
  // that is alone.
  std::string merging = {};
};

// Makes the programs of minimize() those of a rank among role.workers. A process alone exchanges
// nothing, but its updates follow the strategy all the same. May be called again after another
// minimize() on the same programs.
Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::DistributedStrategy& strategy);
// The same for the strategy of 1.8.
Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::FluidStrategy& strategy);

}  // namespace flotilla::fleet
