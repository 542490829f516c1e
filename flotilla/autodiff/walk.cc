#include "flotilla/autodiff/walk.h"

#include <algorithm>

#include "flotilla/op/build.h"

namespace flotilla::autodiff {
namespace {

// Whether the op reads the variable only where gradients never flow.
bool is_statistic(const Op& op, const OpDef& def, const std::string& var) {
  return std::all_of(def.inputs.begin(), def.inputs.end(), [&](const Slot& slot) {
    const std::span<const std::string> vars = op.input_list(slot.name);
    return slot.no_grad || std::find(vars.begin(), vars.end(), var) == vars.end();
  });
}

// Takes back what was added to a block, unless it is told that all went well.
class Rollback {
 public:
  explicit Rollback(Block& block) : block_(block) {
    for (const auto& op : block.ops()) ops_.insert(op.get());
    for (const auto& var : block.vars()) vars_.insert(var.get());
  }
  ~Rollback() {
    if (done_) return;
    std::vector<size_t> positions;
    for (size_t i = 0; i < block_.size(); ++i) {
      if (!ops_.contains(&block_.op(i))) positions.push_back(i);
    }
    block_.erase(positions);
    std::vector<std::string> names;
    for (const auto& var : block_.vars()) {
      if (!vars_.contains(var.get())) names.push_back(var->name);
    }
    for (const std::string& name : names) block_.remove_var(name);
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  void keep() { done_ = true; }

 private:
  Block& block_;
  std::set<const Op*> ops_;
  std::set<const Var*> vars_;
  bool done_ = false;
};

}  // namespace

Attrs inherited_attrs(const Op& op, const OpDef* def) {
  Attrs attrs;
  for (const auto& [name, value] : op.attrs()) {
    const bool known = def != nullptr && def->find_attr(name) != nullptr;
    if (known || name == "op_device" || name == "op_namescope") attrs.emplace(name, value);
  }
  return attrs;
}

Walk::Walk(Block& block, Wanted wanted, const Names& leaves)
    : block_(block),
      wanted_(std::move(wanted)),
      flow_(block, wanted_, leaves),
      drafts_(std::make_shared<Drafts>(block)) {}

void Walk::seed(const std::string& var, Op op, int32_t role) {
  op.set_output("Out", {drafts_->names().add_part(var)});
  drafts_->add(std::move(op), role);
}

void Walk::seed(const std::string& var, const std::string& gradient) {
  drafts_->names().add_part(var, gradient);
}

void Walk::run() {
  for (size_t i = block_.size(); i-- > 0;) {
    try {
      visit(i);
    } catch (Error& error) {
      note_op(error, block_.op(i));
      throw;
    }
  }
  drafts_->set_callstack({});
}

void Walk::visit(size_t position) {
  const Op& op = block_.op(position);
  const OpFlow& flow = flow_.op(position);
  if (flow.skipped) return;
  position_ = position;
  const std::vector<std::string> written = names_in(op.outputs());
  const bool reached = std::any_of(written.begin(), written.end(), [&](const auto& name) {
    return drafts_->names().has_parts(name);
  });
  if (!reached) return;
  if (flow.needed) {
    require((op.role() & kBackwardRole) == 0,
            "{} is itself part of a gradient, and second-order gradients are not implemented",
            op.type());
    op_def(op.type());  // refuses an unknown one
  }
  drafts_->set_callstack(op.attr_or<std::vector<std::string>>("op_callstack", {}));
  output_grads_.clear();
  for (const auto& [slot, vars] : op.outputs()) {
    for (const std::string& name : vars) {
      const std::string gradient = drafts_->take(name);
      if (wanted_.vars.has_value() && !gradient.empty()) taken_.emplace(name, gradient);
      output_grads_[slot].push_back(gradient);
    }
  }
  if (!flow.needed) return;
  if (op.type() == "conditional_block") {
    emit_conditional_grad();
  } else if (op.type() == "while") {
    emit_while_grad();
  } else if (flow.def->grad.kind == GradRule::kCustom) {
    flow.def->grad.emit(*this);
  } else {
    emit_grad_op();
  }
}

void Walk::emit_grad_op() {
  const OpDef& grad_def = op_def(flow_.op(position_).def->grad_type());
  Slots inputs = grad_op_inputs(grad_def);
  Slots outputs = grad_op_outputs(grad_def);
  drafts_->add(
      Op(grad_def.type, std::move(inputs), std::move(outputs), inherited_attrs(op(), &grad_def)));
}

Slots Walk::grad_op_inputs(const OpDef& grad_def) {
  const OpDef& def = *flow_.op(position_).def;
  Slots inputs;
  for (const Use& use : def.grad.uses) {
    const std::string& slot = use.slot;
    const bool is_input = op().has_input(slot);
    for (const std::string& name : is_input ? op().input_list(slot) : op().output_list(slot)) {
      inputs[slot].push_back(name == kEmptyVar ? name : value_of(name, is_input));
    }
  }
  for (const auto& [slot, found] : output_grads_) {
    std::vector<std::string> gradients = found;
    const bool any = std::any_of(gradients.begin(), gradients.end(),
                                 [](const std::string& gradient) { return !gradient.empty(); });
    const Slot* spec = grad_def.find_input(grad_name(slot));
    require(spec != nullptr || !any,
            "no gradient flows through the output {} of {}, but {} needs it", slot, op().type(),
            fmt::join(op().output_list(slot), ", "));
    if (spec == nullptr || (spec->optional && !any)) continue;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].empty()) gradients[i] = zeros(op().output_list(slot)[i]);
    }
    inputs[grad_name(slot)] = std::move(gradients);
  }
  return inputs;
}

Slots Walk::grad_op_outputs(const OpDef& grad_def) {
  Slots outputs;
  for (const auto& [slot, needs] : flow_.op(position_).inputs) {
    if (std::find(needs.begin(), needs.end(), true) == needs.end()) continue;
    require(grad_def.find_output(grad_name(slot)) != nullptr,
            "{} gives no gradient of {}, but {} needs it", grad_def.type, slot,
            fmt::join(op().input_list(slot), ", "));
    for (size_t i = 0; i < needs.size(); ++i) {
      outputs[grad_name(slot)].push_back(
          needs[i] ? drafts_->names().add_part(op().input_list(slot)[i]) : std::string(kEmptyVar));
    }
  }
  return outputs;
}

std::string Walk::output_grad(std::string_view slot, size_t i) {
  const auto found = output_grads_.find(slot);
  return found == output_grads_.end() || i >= found->second.size() ? "" : found->second[i];
}

std::string Walk::input_grad(std::string_view slot, size_t i) {
  const auto& inputs = flow_.op(position_).inputs;
  const auto found = inputs.find(slot);
  if (found == inputs.end() || i >= found->second.size() || !found->second[i]) return "";
  return drafts_->names().add_part(op().input_list(slot)[i]);
}

void Walk::emit(std::string type, Slots inputs, Slots outputs, Attrs attrs) {
  for (auto& [slot, vars] : inputs) {
    for (std::string& name : vars) {
      if (op().reads(name)) {
        name = value_of(name, true);
      } else if (op().writes(name)) {
        name = value_of(name, false);
      }
    }
  }
  attrs.merge(inherited_attrs(op(), nullptr));
  drafts_->add(Op(std::move(type), std::move(inputs), std::move(outputs), std::move(attrs)));
}

std::string Walk::gradient_of(const std::string& var) {
  if (!taken_.contains(var)) taken_.emplace(var, drafts_->take(var));
  return taken_.at(var);
}

std::string Walk::zeros(const std::string& var) {
  if (var == kEmptyVar) return var;
  const std::string gradient = drafts_->names().base_name(var);
  drafts_->add(Op("fill_zeros_like", {{"X", {value_of(var, false)}}}, {{"Out", {gradient}}}));
  return gradient;
}

std::string Walk::value_of(const std::string& var, bool is_input) {
  const std::optional<size_t> overwriter = flow_.overwritten(var, position_, is_input);
  if (!overwriter.has_value()) return var;
  // Running statistics that the op itself moves on: its gradient takes them as they are then.
  if (*overwriter == position_ && is_statistic(op(), *flow_.op(position_).def, var)) {
    return value_of(var, false);
  }
  return drafts_->saved(var, *overwriter);
}

size_t Walk::append() {
  Rollback rollback(block_);
  const size_t begin = drafts_->append_to(block_);
  rollback.keep();
  return begin;
}

}  // namespace flotilla::autodiff
