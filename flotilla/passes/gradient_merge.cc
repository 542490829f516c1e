// flotilla/passes/gradient_merge.cc
//
//     mul_grad(...) -> w@GRAD              mul_grad(...) -> w@GRAD
//     clip, decay                   ==>    elementwise_add(merged, w@GRAD) -> merged
//     sgd(w, w@GRAD) -> w                  conditional_block(every k-th step) {
//                                            scale(merged, 1/k) -> w@GRAD
//                                            clip, decay
//                                            sgd(w, w@GRAD) -> w
//                                            fill_constant(0) -> merged
//                                          }
//
// The updates find the merged gradient under the name of the gradient, so they move as they are.

#include "flotilla/passes/gradient_merge.h"

#include <algorithm>

#include "flotilla/op/build.h"
#include "flotilla/passes/gradients.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/periodic.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_check.h"

namespace flotilla::passes {
namespace {

std::vector<size_t> find_updates(const Block& block) {
  std::vector<size_t> found;
  for (size_t i = 0; i < block.size(); ++i) {
    if (has_role(block.op(i), kOptimizeRole)) found.push_back(i);
  }
  require(!found.empty(), "gradient_merge needs a program with updates, but there are none");
  for (size_t i = found.front(); i < block.size(); ++i) {
    const Op& op = block.op(i);
    require(!has_role(op, kBackwardRole) || has_role(op, kOptimizeRole),
            "gradient_merge needs all gradients before all updates, but {} comes after one",
            op.type());
  }
  return found;
}

// Every update must see a gradient that is merged, or what updates make of one.
void check_gradients(const Block& block, const std::vector<size_t>& updates,
                     const std::map<std::string, size_t>& gradients) {
  for (const auto& [gradient, position] : gradients) {
    require(block.var(gradient).kind != VarKind::kSelectedRows,
            "gradient_merge needs dense gradients, but \"{}\" is sparse", gradient);
  }
  Names made;
  for (const size_t i : updates) {
    const Op& op = block.op(i);
    for (const std::string& grad : op.input_list("Grad")) {
      require(gradients.contains(grad) || made.contains(grad),
              "gradient_merge cannot merge \"{}\", which updates \"{}\": no backward op makes it",
              grad, op.input("Param"));
    }
    for (const std::string& name : names_in(op.outputs())) made.insert(name);
  }
}

Op scale_op(const std::string& from, const std::string& to, float factor) {
  return Op("scale", {{"X", {from}}}, {{"Out", {to}}},
            {{"scale", factor}, {"op_role", static_cast<int32_t>(kBackwardRole)}});
}

Op clear_op(const Var& var) {
  return Op("fill_constant", {}, {{"Out", {var.name}}},
            {{"shape", var.shape.dims()},
             {"dtype", to_paddle(var.dtype)},
             {"value", 0.0f},
             {"op_role", static_cast<int32_t>(kOptimizeRole)}});
}

}  // namespace

void gradient_merge(Program& main, Program& startup, const MergeOptions& options) {
  Block& block = main.global_block();
  const std::vector<size_t> updates = find_updates(block);
  const std::map<std::string, size_t> gradients = find_gradients(block);
  check_gradients(block, updates, gradients);
  const float factor = options.average ? 1.0f / static_cast<float>(options.steps) : 1.0f;

  std::vector<Op> additions, body, clearing;
  for (const auto& [gradient, position] : gradients) {
    const Var& var = block.var(gradient);
    const Var& merged = add_zeros(main, startup, gradient + "@GradientMerge", var.dtype, var.shape);
    Attrs attrs = marks_of(block.op(position));
    attrs["op_role"] = static_cast<int32_t>(kBackwardRole);
    additions.emplace_back("elementwise_add", Slots{{"X", {merged.name}}, {"Y", {gradient}}},
                           Slots{{"Out", {merged.name}}}, std::move(attrs));
    body.push_back(scale_op(merged.name, gradient, factor));
    clearing.push_back(clear_op(merged));
  }
  for (const size_t i : updates) body.push_back(block.op(i));
  for (Op& op : clearing) body.push_back(std::move(op));

  const size_t position = updates.back() + 1 - updates.size();
  block.erase(updates);
  insert_periodic(main, startup, position,
                  {.name = "gradient_merge", .steps = options.steps, .role = kOptimizeRole},
                  std::move(body));
  block.insert_before(position, std::move(additions));
}

void gradient_merge(PassContext& context) {
  const strategy::GradientMergeConfig& config = context.settings().gradient_merge_configs();
  gradient_merge(context.main, *context.startup,
                 {.steps = config.k_steps(), .average = config.avg()});
}

void check_gradient_merge(const DistributedStrategy& strategy) {
  check_at_least_one("gradient_merge_configs[\"k_steps\"]",
                     strategy.message().gradient_merge_configs().k_steps());
}

std::string merging_by_gradient_merge(const PassContext& context) {
  return fmt::format("{} steps at a time", context.settings().gradient_merge_configs().k_steps());
}

}  // namespace flotilla::passes
