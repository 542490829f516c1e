#include "flotilla/autodiff/flow.h"

#include <algorithm>

#include "flotilla/ir/structure.h"

namespace flotilla::autodiff {
namespace {

// What follows a gradient is no part of a loss: the updates of an earlier optimizer, schedules.
bool is_skipped(const Op& op) {
  return (op.role() & (kOptimizeRole | kLrSchedRole | kRpcRole)) != 0;
}

Names all_inside(const Op& op) {
  NamesInside names = names_inside(op);
  names.read.merge(names.written);
  return std::move(names.read);
}

bool is_gradient(const Op& op) { return (op.role() & kBackwardRole) != 0; }

bool is_differentiable(const OpDef* def) {
  return def != nullptr && def->grad.kind != GradRule::kNone;
}

}  // namespace

Flow::Flow(const Block& block, const Wanted& wanted, const Names& leaves) {
  for (const auto& var : block.vars()) {
    const bool leaf = !wanted.vars.has_value() || wanted.vars->contains(var->name);
    needs_[var->name] = leaf && may_need(block, var->name, wanted);
  }
  // In the default case only what no op writes counts as an input.
  if (!wanted.vars.has_value()) {
    Names read;
    for (const auto& op : block.ops()) {
      for (const std::string& name : names_in(op->inputs())) read.insert(name);
      for (const std::string& name : names_in(op->outputs())) {
        if (!read.contains(name)) needs_[name] = false;
      }
    }
  }
  for (const std::string& leaf : leaves) needs_[leaf] = true;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    ops_.push_back(flow_of(block, op, wanted));
    Names written = names_inside(op).written;
    for (const std::string& name : names_in(op.outputs())) written.insert(name);
    for (const std::string& name : written) writers_[name].push_back(i);
  }
}

bool Flow::needs(std::string_view var) const {
  const auto found = needs_.find(var);
  return found != needs_.end() && found->second;
}

bool Flow::may_need(const Block& block, const std::string& var, const Wanted& wanted) {
  const Var* found = block.find_var_recursive(var);
  if (found == nullptr || found->stop_gradient || wanted.constants.contains(var)) return false;
  if (found->is_parameter() && !found->parameter->trainable) return false;
  return is_floating(found->dtype);
}

OpFlow Flow::flow_of(const Block& block, const Op& op, const Wanted& wanted) {
  OpFlow flow{.def = find_op(op.type()), .skipped = is_skipped(op)};
  if (flow.skipped) return flow;
  // Ops whose gradient is not known stay on the path, for the walk to refuse them.
  const bool refused_later = flow.def == nullptr || !sub_blocks(op).empty() || is_gradient(op);
  if (refused_later || is_differentiable(flow.def)) {
    for (const auto& [slot, vars] : op.inputs()) {
      const Slot* spec = flow.def == nullptr ? nullptr : flow.def->find_input(slot);
      const bool differentiated = spec == nullptr || !spec->no_grad;
      for (const std::string& name : vars) {
        const bool need = differentiated && needs(name);
        flow.inputs[slot].push_back(need);
        flow.needed = flow.needed || need;
      }
    }
  }
  // A block may leave what it writes as it was, so what is there already counts too.
  const Names inside = all_inside(op);
  flow.needed = flow.needed || std::any_of(inside.begin(), inside.end(),
                                           [&](const auto& name) { return needs(name); });
  Names written;
  for (const auto& [slot, vars] : op.outputs()) {
    const Slot* spec = flow.def == nullptr ? nullptr : flow.def->find_output(slot);
    for (const std::string& name : vars) {
      needs_[name] =
          flow.needed && (spec == nullptr || !spec->no_grad) && may_need(block, name, wanted);
      written.insert(name);
    }
  }
  if (!sub_blocks(op).empty() && flow.needed) {
    for (const std::string& name : inside) written.insert(name);
    for (const std::string& name : written) needs_[name] = may_need(block, name, wanted);
  }
  // An intermediate variable may itself be what is wanted.
  if (wanted.vars.has_value()) {
    for (const std::string& name : written) {
      if (wanted.vars->contains(name) && may_need(block, name, wanted)) needs_[name] = true;
    }
  }
  return flow;
}

std::optional<size_t> Flow::overwritten(std::string_view var, size_t position, bool before) const {
  const auto found = writers_.find(var);
  if (found == writers_.end()) return std::nullopt;
  const size_t from = before ? position : position + 1;
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), from);
  if (next == found->second.end()) return std::nullopt;
  return *next;
}

}  // namespace flotilla::autodiff
