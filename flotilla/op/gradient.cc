#include "flotilla/op/gradient.h"

#include <algorithm>

#include "flotilla/op/infer.h"

namespace flotilla {
namespace {

// Where the gradient op finds a variable that is as the forward input `slot`: the slot itself, else
// the gradient or the result of an output that is like it; "" where there is none.
std::string model_of(const InferContext& c, const OpDef& forward, const std::string& slot) {
  const auto is_there = [&](const std::string& name) {
    return c.has_in(name) && c.op().input_list(name).front() != kEmptyVar;
  };
  if (is_there(slot)) return slot;
  for (const Slot& output : forward.outputs) {
    if (output.like == slot && is_there(grad_name(output.name))) return grad_name(output.name);
  }
  for (const Slot& output : forward.outputs) {
    if (output.like == slot && is_there(output.name)) return output.name;
  }
  return {};
}

void infer_like_variables(InferContext& c) {
  const OpDef& forward = *forward_of(c.op().type());
  for (const Slot& slot : forward.inputs) {
    const std::string gradient = grad_name(slot.name), model = model_of(c, forward, slot.name);
    if (model.empty()) continue;
    for (size_t i = 0; i < std::min(c.out_count(gradient), c.in_count(model)); ++i) {
      c.out(gradient, i) = like(c.in(model, i));
    }
  }
}

std::vector<Slot> differentiable(const std::vector<Slot>& slots) {
  std::vector<Slot> found;
  std::ranges::copy_if(slots, std::back_inserter(found), [](const Slot& s) { return !s.no_grad; });
  return found;
}

Slot gradient_slot(const Slot& variable) {
  return {.name = grad_name(variable.name),
          .doc = "gradient of " + variable.name,
          .list = variable.list};
}

Slot used_slot(const OpDef& forward, const Use& use) {
  const Slot* input = forward.find_input(use.slot);
  const Slot* found = input != nullptr ? input : forward.find_output(use.slot);
  invariant(found != nullptr, "the gradient of {} uses {}, which is no slot of it", forward.type,
            use.slot);
  return {.name = use.slot,
          .doc = input != nullptr ? "input of the op" : "result of the op",
          .optional = found->optional,
          .list = found->list,
          .shape_only = use.shape_only || found->shape_only,
          .one = found->one};
}

void add_or_replace(std::vector<Slot>& slots, const Slot& slot) {
  const auto there = std::ranges::find(slots, slot.name, &Slot::name);
  if (there == slots.end()) {
    slots.push_back(slot);
  } else {
    *there = slot;
  }
}

}  // namespace

OpDef gradient_of(const OpDef& forward) {
  const GradRule& rule = forward.grad;
  OpDef def{.type = forward.grad_type(),
            .doc = "Gradient of " + forward.type + ".",
            .attrs = forward.attrs,
            .infer = rule.op.infer != nullptr ? rule.op.infer : infer_like_variables,
            .kernels = rule.op.kernels,
            .lower = rule.op.lower,
            .to_paddle = rule.op.to_paddle};
  for (const Use& use : rule.uses) def.inputs.push_back(used_slot(forward, use));
  const std::vector<Slot> results = differentiable(forward.outputs);
  for (const Slot& result : results) {
    Slot slot = gradient_slot(result);
    slot.optional = results.size() > 1;
    if (def.dtype_slot.empty()) def.dtype_slot = slot.name;
    def.inputs.push_back(std::move(slot));
  }
  for (const Slot& slot : rule.op.inputs) add_or_replace(def.inputs, slot);
  const std::vector<Slot> variables = differentiable(forward.inputs);
  for (const Slot& variable : variables) {
    Slot slot = gradient_slot(variable);
    slot.optional = variables.size() > 1 || variable.list;
    def.outputs.push_back(std::move(slot));
  }
  return def;
}

}  // namespace flotilla
