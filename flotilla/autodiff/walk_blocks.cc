// Gradients of ops with a block of their own: an op with a block of gradients, in Paddle's form.

#include "flotilla/autodiff/walk.h"
#include "flotilla/ir/structure.h"

namespace flotilla::autodiff {
namespace {

std::vector<std::string> copied(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

}  // namespace

// A walk through the block of op(). Gradients flow into what it reads outside and into `carried`,
// which goes from round to round.
std::shared_ptr<Walk> Walk::inside(const Names& carried) const {
  const std::string slot = op().type() == "while" ? "X" : "Input";
  const std::span<const std::string> inputs = op().input_list(slot);
  const auto& needs = flow_.op(position_).inputs;
  Names leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (needs.at(slot)[i] && !carried.contains(inputs[i])) leaves.insert(inputs[i]);
  }
  Names all = leaves;
  all.insert(carried.begin(), carried.end());
  auto made = std::make_shared<Walk>(sub_block(op()),
                                     Wanted{.vars = Names(), .constants = wanted_.constants}, all);
  // Whoever runs the block finds them by these names.
  for (const std::string& leaf : leaves) made->bases_[leaf] = grad_name(leaf);
  for (const std::string& name : carried) made->bases_[name] = grad_name(name) + "@ROUND";
  made->leaves_ = std::move(leaves);
  return made;
}

void Walk::rename_reads(const std::function<std::string(const Var&)>& rename) {
  for (Draft& draft : drafts_) {
    const Slots inputs = draft.op.inputs();
    for (auto [slot, vars] : inputs) {
      // The other slots of such an op only name what its block reads and writes.
      if (draft.inside && slot != "Cond") continue;
      for (std::string& name : vars) {
        const Var* var = block_.find_var_recursive(name);
        if (var != nullptr) name = rename(*var);
      }
      draft.op.set_input(slot, vars);
    }
    if (draft.inside) draft.inside->rename_reads(rename);
  }
}

// What op() saw of variables outside its block, where they are overwritten later.
void Walk::read_what_was_there(Walk& inside) {
  const Names changed = names_inside(op()).written;
  inside.rename_reads([&](const Var& var) {
    const bool outside = block_.find_var_recursive(var.name) == &var;
    return outside ? value_of(var.name, !changed.contains(var.name)) : var.name;
  });
}

// In a block that runs again, what it left in a variable outside is gone later; what it found there
// has been saved.
void Walk::keep_ends_of_rounds(const Names& changed) {
  rename_reads([&](const Var& var) {
    const bool outside = block_.find_var(var.name) == nullptr && changed.contains(var.name) &&
                         block_.find_var_recursive(var.name) == &var;
    return outside ? saved(var.name, block_.size()) : var.name;
  });
}

// What a gradient op reads of op().
Slots Walk::block_grad_inputs(std::initializer_list<std::string_view> slots) const {
  Slots inputs;
  for (const std::string_view slot : slots) {
    inputs[std::string(slot)] =
        copied(op().has_input(slot) ? op().input_list(slot) : op().output_list(slot));
  }
  return inputs;
}

void Walk::emit_conditional_grad() {
  const std::shared_ptr<Walk> made = inside({});
  Slots inputs = block_grad_inputs({"Cond", "Input", "Out", "Scope"}), outputs;
  for (size_t i = 0; i < op().output_list("Out").size(); ++i) {
    const std::string& out = op().output_list("Out")[i];
    const std::string gradient = output_grad("Out", i);
    inputs["Out@GRAD"].push_back(gradient.empty() ? std::string(kEmptyVar) : gradient);
    if (gradient.empty()) continue;
    for (size_t earlier = 0; earlier < position_; ++earlier) {
      require(!block_.op(earlier).writes(out),
              "conditional_block may leave {} as {} wrote it, and gradients do not flow through "
              "that yet",
              out, block_.op(earlier).type());
    }
    made->seed(out, name_of(gradient));
  }
  made->run();
  read_what_was_there(*made);
  bool any = false;
  for (const std::string& input : op().input_list("Input")) {
    const bool flows = made->leaves_.contains(input) && !made->take(input).empty();
    outputs["Input@GRAD"].push_back(flows ? add_part(input) : std::string(kEmptyVar));
    any = any || flows;
  }
  if (!any) return;
  draft(Op("conditional_block_grad", std::move(inputs), std::move(outputs),
           inherited_attrs(op(), flow_.op(position_).def)));
  drafts_.back().inside = made;
}

// The gradients of what goes from round to round stay under one name outside the block: it holds
// the gradient behind a round before that round's block of gradients has run, and the one in front
// of it afterwards.
void Walk::emit_while_grad() {
  const std::vector<std::string> outs = copied(op().output_list("Out"));
  Names carried;
  for (const std::string& out : outs) {
    if (Flow::may_need(block_, out, wanted_)) carried.insert(out);
  }
  const std::shared_ptr<Walk> made = inside(carried);
  std::map<std::string, std::string> carriers;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!carried.contains(outs[i])) continue;
    const std::string gradient = output_grad("Out", i);
    const std::string carrier = gradient.empty() ? zeros(outs[i]) : name_of(gradient);
    carriers[outs[i]] = carrier;
    made->seed(outs[i], Op("assign", {{"X", {carrier}}}, {}), kBackwardRole);
  }
  made->run();
  made->keep_ends_of_rounds(names_inside(op()).written);
  read_what_was_there(*made);
  Slots inputs = block_grad_inputs({"X", "Out", "StepScopes"}), outputs;
  for (const auto& [name, carrier] : carriers) {
    const std::string before = made->take(name);
    made->draft(Op(before.empty() ? "fill_zeros_like" : "assign",
                   {{"X", {before.empty() ? name : before}}}, {{"Out", {carrier}}}));
    inputs["Out@GRAD"].push_back(carrier);
  }
  const std::vector<std::string> ins = copied(op().input_list("X"));
  for (size_t i = 0; i < ins.size(); ++i) {
    const std::string& input = ins[i];
    std::string gradient(kEmptyVar);
    if (flow_.op(position_).inputs.at("X")[i] && carriers.contains(input)) {
      gradient = carriers.at(input);
      parts_[input].push_back(gradient);
    } else if (made->leaves_.contains(input) && !made->take(input).empty()) {
      gradient = add_part(input);
    }
    outputs["X@GRAD"].push_back(gradient);
  }
  Attrs attrs = inherited_attrs(op(), flow_.op(position_).def);
  attrs["original_output_grad"] = inputs["Out@GRAD"];
  draft(Op("while_grad", std::move(inputs), std::move(outputs), std::move(attrs)));
  drafts_.back().inside = made;
}

}  // namespace flotilla::autodiff
