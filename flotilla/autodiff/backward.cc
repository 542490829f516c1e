#include "flotilla/autodiff/backward.h"

#include <algorithm>

#include "flotilla/autodiff/walk.h"

namespace flotilla::autodiff {
namespace {

using autodiff::Names;
using autodiff::Walk;
using autodiff::Wanted;

Names as_set(const Block& block, const std::vector<std::string>& names) {
  for (const std::string& name : names) block.var(name);  // refuses an unknown one
  return {names.begin(), names.end()};
}

void check_loss(const Var& loss) {
  require(loss.block->index() == 0,
          "the loss \"{}\" must lie in the global block, but is in block {}", loss.name,
          loss.block->index());
  require(loss.shape.numel() == 1,
          "the loss \"{}\" must have one element, but its shape is {}. Take its mean or sum first",
          loss.name, loss.shape);
  require(is_floating(loss.dtype), "the loss \"{}\" must be a float, but is {}", loss.name,
          loss.dtype);
}

// Passes that scale the loss look for these marks.
void mark_loss_op(const Block& block, size_t end, const std::string& loss) {
  for (size_t i = end; i-- > 0;) {
    Op& op = block.op(i);
    if (!op.writes(loss)) continue;
    op.set_attr("op_role", op.role() | kLossRole);
    return;
  }
}

void mark_param_grad(const Block& block, size_t begin, const ParamGrad& pair) {
  for (size_t i = block.size(); i-- > begin;) {
    Op& op = block.op(i);
    if (!op.writes(pair.grad)) continue;
    std::vector<std::string> vars = {pair.param, pair.grad};
    const auto before = op.attr_or<std::vector<std::string>>("op_role_var", {});
    vars.insert(vars.end(), before.begin(), before.end());
    op.set_attr("op_role_var", vars);
    return;
  }
}

Op ones(const Var& var) {
  const int32_t dtype = to_paddle(var.dtype);
  if (!var.shape.known()) {
    return Op("fill_any_like", {{"X", {var.name}}}, {}, {{"value", 1.0f}, {"dtype", dtype}});
  }
  return Op("fill_constant", {}, {},
            {{"shape", var.shape.dims()}, {"value", 1.0f}, {"dtype", dtype}});
}

}  // namespace

std::vector<ParamGrad> append_backward(Var& loss, const BackwardOptions& options) {
  check_loss(loss);
  Block& block = *loss.block;
  Wanted wanted{.constants = as_set(block, options.no_grad_set)};
  if (!options.parameter_list.empty()) wanted.vars = as_set(block, options.parameter_list);
  Walk walk(block, std::move(wanted));
  if (!walk.needs(loss.name)) return {};
  walk.seed(loss.name, ones(loss), kBackwardRole | kLossRole);
  walk.run();

  std::vector<std::string> params = options.parameter_list;
  if (params.empty()) {
    for (const Var* parameter : block.parameters()) params.push_back(parameter->name);
  }
  std::vector<ParamGrad> found;
  for (const std::string& param : params) {
    const std::string gradient = walk.gradient_of(param);
    if (!gradient.empty()) found.push_back({param, gradient});
  }
  const size_t begin = walk.append();
  for (ParamGrad& pair : found) {
    pair.grad = walk.name_of(pair.grad);
    mark_param_grad(block, begin, pair);
  }
  mark_loss_op(block, begin, loss.name);
  return found;
}

std::vector<std::string> gradients(const std::vector<Var*>& targets,
                                   const std::vector<Var*>& inputs,
                                   const std::vector<Var*>& target_gradients,
                                   const std::vector<std::string>& no_grad_set) {
  require(!targets.empty(), "gradients needs at least one target");
  require(target_gradients.empty() || target_gradients.size() == targets.size(),
          "gradients of {} targets needs as many target_gradients, but got {}", targets.size(),
          target_gradients.size());
  Block& block = *targets.front()->block;
  for (const Var* target : targets) {
    require(target->block == &block && block.index() == 0,
            "the target \"{}\" must lie in the global block", target->name);
  }
  Wanted wanted{.vars = Names(), .constants = as_set(block, no_grad_set)};
  for (const Var* input : inputs) wanted.vars->insert(input->name);
  Walk walk(block, std::move(wanted));
  for (size_t i = 0; i < targets.size(); ++i) {
    const Var& target = *targets[i];
    if (!walk.needs(target.name)) continue;
    const Var* given = target_gradients.empty() ? nullptr : target_gradients[i];
    if (given == nullptr) {
      walk.seed(target.name, ones(target), kBackwardRole);
    } else {
      require(given->shape == target.shape,
              "the gradient of \"{}\" must have its shape {}, but \"{}\" has shape {}", target.name,
              target.shape, given->name, given->shape);
      walk.seed(target.name, given->name);
    }
  }
  walk.run();
  std::vector<std::string> found;
  for (const Var* input : inputs) found.push_back(walk.gradient_of(input->name));
  walk.append();
  for (std::string& name : found) name = walk.name_of(name);
  return found;
}

}  // namespace flotilla::autodiff
