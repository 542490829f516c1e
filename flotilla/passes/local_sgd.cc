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

}  // namespace flotilla::passes
