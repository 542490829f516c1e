// flotilla/passes/local_sgd.cc
//
//                                   sgd(w, w@GRAD) -> w
//     sgd(w, w@GRAD) -> w    ==>    conditional_block(every k-th step) {
//                                     c_allreduce_sum(w)
//                                     scale(w, 1/nranks) -> w
//                                   }
//
// The state of optimizers stays that of the rank.

#include "flotilla/passes/local_sgd.h"

#include "flotilla/passes/exchange.h"
#include "flotilla/passes/gradients.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/periodic.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_check.h"

namespace flotilla::passes {

void local_sgd(Program& main, Program& startup, const LocalSgdOptions& options) {
  require(options.nranks >= 1, "parameters are averaged over one rank or more, but nranks is {}",
          options.nranks);
  Block& block = main.global_block();
  const Names names = updated_params(block);
  const std::vector<std::string> params(names.begin(), names.end());
  require(!params.empty(), "local_sgd needs a program with updates, but there are none");
  size_t position = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (has_role(block.op(i), kOptimizeRole)) position = i + 1;
  }
  std::vector<Op> body;
  for (const std::string& param : params) {
    Op sum = exchange_op(kAllReduce, {param}, true, {});
    Op average("scale", {{"X", {param}}}, {{"Out", {param}}},
               {{"scale", 1.0f / static_cast<float>(options.nranks)}});
    for (Op* op : {&sum, &average}) {
      op->set_attr("op_role", static_cast<int32_t>(kOptimizeRole));
      body.push_back(std::move(*op));
    }
  }
  insert_periodic(
      main, startup, position,
      {.name = "local_sgd", .steps = options.steps, .until = options.begin, .role = kOptimizeRole},
      std::move(body));
}

void local_sgd(PassContext& context) {
  const strategy::LocalSGDConfig& config = context.settings().localsgd_configs();
  local_sgd(
      context.main, *context.startup,
      {.nranks = context.ranks.count, .steps = config.k_steps(), .begin = config.begin_step()});
}

void check_local_sgd(const DistributedStrategy& strategy) {
  check_at_least_one("localsgd_configs[\"k_steps\"]",
                     strategy.message().localsgd_configs().k_steps());
  refuse_both(strategy, "localsgd", "gradient_merge");
  refuse_with_samples(strategy, "localsgd");
}

bool wants_local_sgd(const FluidStrategy& strategy) {
  const std::string& mode = strategy.message().collective_mode();
  require(mode.empty() || mode == "grad_allreduce" || mode == "local_sgd",
          "collective_mode must be \"grad_allreduce\" or \"local_sgd\", but is \"{}\"", mode);
  return strategy.message().use_local_sgd() || mode == "local_sgd";
}

std::string merging_by_local_sgd(const PassContext& context) {
  const int64_t steps = context.settings().localsgd_configs().k_steps();
  return steps == 1 ? "parameters are averaged over workers in every step"
                    : fmt::format("parameters are averaged over workers every {} steps", steps);
}

}  // namespace flotilla::passes
