// Gradients of ops with a block of their own: an op with a block of gradients, in Paddle's form.

#include <initializer_list>

#include "flotilla/autodiff/walk.h"
#include "flotilla/ir/structure.h"

namespace flotilla::autodiff {
namespace {

std::vector<std::string> copied(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

// What the gradient op of `op` reads of it.
Slots block_grad_inputs(const Op& op, std::initializer_list<std::string_view> slots) {
  Slots inputs;
  for (const std::string_view slot : slots) {
    inputs[std::string(slot)] =
        copied(op.has_input(slot) ? op.input_list(slot) : op.output_list(slot));
  }
  return inputs;
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
  made->drafts_->set_leaves(std::move(leaves));
  for (const std::string& name : carried) {
    made->drafts_->names().set_base_name(name, drafts_->names().base_name(name) + "@ROUND");
  }
  return made;
}

// What op() saw of variables outside its block, where they are overwritten later.
void Walk::read_what_was_there(Walk& inside) {
  const Names changed = names_inside(op()).written;
  inside.drafts_->rename_reads([&](const Var& var) {
    const bool outside = block_.find_var_recursive(var.name) == &var;
    return outside ? value_of(var.name, !changed.contains(var.name)) : var.name;
  });
}

// Whether a variable had a value already when op() ran.
bool Walk::was_there(const std::string& var) const {
  if (block_.find_var(var) == nullptr) return true;
  for (size_t earlier = 0; earlier < position_; ++earlier) {
    if (block_.op(earlier).writes(var)) return true;
  }
  return false;
}

// Where its condition `cond` is false, op() leaves a variable as it was.
void Walk::add_gradient_of_what_stays(const std::string& var, const std::string& gradient,
                                      const std::string& cond) {
  const std::string which = gradient + "@TAKEN";
  drafts_->add(Op("cast", {{"X", {cond}}}, {{"Out", {which}}},
                  {{"in_dtype", to_paddle(boolean)}, {"out_dtype", to_paddle(i32)}}));
  drafts_->add(Op("select_output", {{"X", {gradient}}, {"Mask", {which}}},
                  {{"Out", {drafts_->names().add_part(var), std::string(kEmptyVar)}}}));
}

void Walk::emit_conditional_grad() {
  const std::shared_ptr<Walk> made = inside({});
  Slots inputs = block_grad_inputs(op(), {"Input", "Out", "Scope"}), outputs;
  const std::string cond = value_of(op().input("Cond"), true);
  inputs["Cond"] = {cond};
  std::map<std::string, std::string> stays;  // what may stay as it was: the gradients behind op()
  for (size_t i = 0; i < op().output_list("Out").size(); ++i) {
    const std::string& out = op().output_list("Out")[i];
    std::string gradient = output_grad("Out", i);
    if (!gradient.empty() && was_there(out)) {
      // The block may have its own gradient of the variable as it was, under the usual name.
      stays[out] = drafts_->names().base_name(out) + "@AFTER";
      drafts_->add(Op("assign", {{"X", {gradient}}}, {{"Out", {stays[out]}}}));
      gradient = stays[out];
    }
    inputs["Out@GRAD"].push_back(gradient.empty() ? std::string(kEmptyVar) : gradient);
    if (!gradient.empty()) made->seed(out, name_of(gradient));
  }
  made->run();
  read_what_was_there(*made);
  bool any = false;
  for (const std::string& input : op().input_list("Input")) {
    const bool flows = made->drafts_->is_leaf(input) && !made->drafts_->take(input).empty();
    outputs["Input@GRAD"].push_back(flows ? drafts_->names().add_part(input)
                                          : std::string(kEmptyVar));
    any = any || flows;
  }
  if (any) {
    drafts_->add(Op("conditional_block_grad", std::move(inputs), std::move(outputs),
                    inherited_attrs(op(), flow_.op(position_).def)),
                 kBackwardRole, made->drafts_);
  }
  for (const auto& [out, gradient] : stays) add_gradient_of_what_stays(out, gradient, cond);
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
  made->drafts_->keep_ends_of_rounds(names_inside(op()).written);
  read_what_was_there(*made);
  Slots inputs = block_grad_inputs(op(), {"X", "Out", "StepScopes"}), outputs;
  // A loop without a round leaves what it writes as it was, which X need not hold.
  for (const auto& [name, carrier] : carriers) {
    if (!op().reads(name) && was_there(name)) inputs["X"].push_back(name);
  }
  for (const auto& [name, carrier] : carriers) {
    const std::string before = made->drafts_->take(name);
    made->drafts_->add(Op(before.empty() ? "fill_zeros_like" : "assign",
                          {{"X", {before.empty() ? name : before}}}, {{"Out", {carrier}}}));
    inputs["Out@GRAD"].push_back(carrier);
  }
  const size_t read = op().input_list("X").size();
  for (size_t i = 0; i < inputs["X"].size(); ++i) {
    const std::string& input = inputs["X"][i];
    std::string gradient(kEmptyVar);
    const bool needed = i >= read || flow_.op(position_).inputs.at("X")[i];
    if (needed && carriers.contains(input)) {
      gradient = carriers.at(input);
      drafts_->names().add_part(input, gradient);
    } else if (made->drafts_->is_leaf(input) && !made->drafts_->take(input).empty()) {
      gradient = drafts_->names().add_part(input);
    }
    outputs["X@GRAD"].push_back(gradient);
  }
  Attrs attrs = inherited_attrs(op(), flow_.op(position_).def);
  attrs["original_output_grad"] = inputs["Out@GRAD"];
  drafts_->add(Op("while_grad", std::move(inputs), std::move(outputs), std::move(attrs)),
               kBackwardRole, made->drafts_);
}

}  // namespace flotilla::autodiff
