// flotilla/fleet/pipeline.h
//
// Makes a program of one process that of one among many, by the passes of a strategy
// (passes/pass.h) and the role of this process.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "flotilla/fleet/role.h"
#include "flotilla/ir/program.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/passes/pass.h"
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

std::vector<std::string> names_of(const std::vector<passes::PassReport>& reports);

// While it lives, the passes of the strategy that belong around a backward pass run in every
// minimize().
class StrategyStages final : public layers::BackwardStages {
 public:
  StrategyStages(const Role& role, passes::DistributedStrategy strategy,
                 std::span<const passes::PassRow> rows = passes::all_passes());
  ~StrategyStages() override;
  StrategyStages(const StrategyStages&) = delete;
  StrategyStages& operator=(const StrategyStages&) = delete;

  Var& before_backward(Var& loss) override;
  void after_backward(Var& loss, std::vector<ParamGrad>& params_grads) override;

  // What passes have said so far.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  passes::PassContext context_of(Var& loss) const;

  const Role role_;
  const passes::DistributedStrategy strategy_;
  const std::span<const passes::PassRow> rows_;
  std::vector<std::string> notices_;
  layers::BackwardStages* const outer_;
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
