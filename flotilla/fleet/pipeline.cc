#include "flotilla/fleet/pipeline.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/layers/context.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_support.h"

namespace flotilla::fleet {
namespace {

using passes::PassContext;
using passes::PassStage;

passes::Ranks ranks_of(const Role& role) {
  return {.rank = role.index, .count = role.workers, .endpoints = role.worker_endpoints};
}

// What the passes that ran say of it: first how, then how often, which an earlier pass decides.
std::string merging_of(const PassContext& context, const std::vector<std::string>& ran) {
  std::string text;
  if (context.ranks.count == 1) return text;
  for (const passes::PassRow& pass : passes::all_passes() | std::views::reverse) {
    if (pass.merging == nullptr || std::find(ran.begin(), ran.end(), pass.name) == ran.end())
      continue;
    text += (text.empty() ? "" : ", ") + pass.merging(context);
  }
  return text;
}

// `notices`: what the strategy asks for and no pass does.
Applied apply(Program& main, Program& startup, const Role& role,
              const passes::DistributedStrategy& strategy, std::vector<std::string> notices) {
  require(role.collective && role.is_worker(),
          "gradients are exchanged between the workers of a collective job, but this process is {}",
          role.collective ? "no worker" : "of a job with parameter servers");
  check(strategy);
  PassContext context = {.main = main,
                         .startup = &startup,
                         .strategy = strategy,
                         .ranks = ranks_of(role),
                         .notices = std::move(notices)};
  Applied applied = {.passes = names_of(run_passes(PassStage::kAfterUpdate, context))};
  applied.notices = std::move(context.notices);
  applied.fusion = std::move(context.fusion);
  applied.merging = merging_of(context, applied.passes);
  return applied;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<passes::PassReport>& reports) {
  std::vector<std::string> names;
  for (const passes::PassReport& report : reports) names.emplace_back(report.name);
  return names;
}

StrategyStages::StrategyStages(const Role& role, passes::DistributedStrategy strategy,
                               std::span<const passes::PassRow> rows)
    : role_(role),
      strategy_(std::move(strategy)),
      rows_(rows),
      outer_(std::exchange(layers::context().stages, this)) {}

StrategyStages::~StrategyStages() { layers::context().stages = outer_; }

PassContext StrategyStages::context_of(Var& loss) const {
  return {.main = loss.block->program(),
          .startup = &layers::default_startup_program(),
          .strategy = strategy_,
          .ranks = role_.collective ? ranks_of(role_) : passes::Ranks(),
          .loss = &loss};
}

Var& StrategyStages::before_backward(Var& loss) {
  PassContext context = context_of(loss);
  run_passes(PassStage::kBeforeBackward, context, rows_);
  for (std::string& notice : context.notices) notices_.push_back(std::move(notice));
  return *context.loss;
}

void StrategyStages::after_backward(Var& loss, std::vector<ParamGrad>& params_grads) {
  PassContext context = context_of(loss);
  context.params_grads = &params_grads;
  run_passes(PassStage::kAfterBackward, context, rows_);
  for (std::string& notice : context.notices) notices_.push_back(std::move(notice));
}

Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::DistributedStrategy& strategy) {
  return apply(main, startup, role, strategy, unsupported(strategy));
}

Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::FluidStrategy& strategy) {
  return apply(main, startup, role, translate(strategy), unsupported(strategy));
}

}  // namespace flotilla::fleet
