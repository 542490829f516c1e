#include "flotilla/plan/control_flow.h"

#include "flotilla/ir/structure.h"
#include "flotilla/plan/drafter.h"

namespace flotilla::plan {

void ControlFlow::plan(const Block& block, const Op& op) {
  if (op.type() == "conditional_block_grad") return plan_conditional_grad(block, op);
  if (op.type() == "while_grad") return plan_while_grad(block, op);
  const bool loop = op.type() == "while";
  require(loop || op.type() == "conditional_block",
          "the op \"{}\" has a sub-block, but only while and conditional_block can run one",
          op.type());
  const Block& inner = sub_block(op);
  if (loop) {
    if (loops_ == 0) forget_rounds(inner);
    std::vector<Recording> recordings = recordings_of(inner);
    if (!recordings.empty()) return plan_recorded_while(block, op, std::move(recordings));
  }
  plan_conditional(op, condition_of(block, op, loop ? "Condition" : "Cond"), loop,
                   [&] { drafter_.plan_block(inner); });
}

int32_t ControlFlow::condition_of(const Block& block, const Op& op, std::string_view slot) {
  const std::string& name = op.input(slot);
  const int32_t value = drafter_.reading(block, name);
  const VarMeta& meta = drafter_.draft().at(value).meta;
  const auto check = [&meta, &op, &name] {
    require(meta.dtype == boolean && meta.shape.numel() == 1,
            "the condition of {} must be one bool, but {} is {}{}", op.type(), name, meta.dtype,
            meta.shape);
  };
  if (!size_unknown(meta)) {
    check();
    return value;
  }
  // Refuses it each time that the op is reached.
  drafter_.host().add_node({.op = &op, .side_effect = true}, [&] {
    drafter_.host().read(value, {});
    return Step(check);
  });
  return value;
}

void ControlFlow::plan_conditional(const Op& op, int32_t condition, bool loop,
                                   const std::function<void()>& plan_body) {
  DraftHost& host = drafter_.host();
  const Cell* cell = nullptr;
  const size_t head = host.add_node({.op = &op, .side_effect = true, .loop = loop}, [&] {
    cell = host.read(condition, {});
    return Step{};
  });
  drafter_.draft().nodes[head].condition = cell;
  loops_ += loop ? 1 : 0;
  host.add_body(head, plan_body);
  loops_ -= loop ? 1 : 0;
}

void ControlFlow::plan_conditional_grad(const Block& block, const Op& op) {
  zero_gradients(block, op, "Input", {});
  plan_conditional(op, condition_of(block, op, "Cond"), false, [&] {
    const Block& inner = sub_block(op);
    take_gradients_out(block, op, "Input", plan_own_block(inner));
  });
}

ControlFlow::Values ControlFlow::plan_own_block(const Block& block) {
  Values& current = drafter_.current();
  Values outer = current;
  for (const auto& var : block.vars()) current.erase(var->name);
  drafter_.plan_block(block);
  Values own;
  for (const auto& var : block.vars()) {
    if (const auto found = current.find(var->name); found != current.end()) own.insert(*found);
  }
  current = std::move(outer);
  return own;
}

void ControlFlow::zero_gradients(const Block& block, const Op& op, const std::string& slot,
                                 const Names& carried) {
  const std::span<const std::string> inputs = op.input_list(slot);
  const std::span<const std::string> gradients = op.output_list(grad_name(slot));
  require(gradients.size() <= inputs.size(), "{} gives {} gradients of {} variables", op.type(),
          gradients.size(), inputs.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == kEmptyVar || carried.contains(gradients[i])) continue;
    if (carried.contains(grad_name(inputs[i]))) continue;
    prepare_own(block, "fill_zeros_like", {inputs[i]}, gradients[i]);
  }
}

// Adds the gradients x@GRAD that a block has as its own variables to what stands outside for x of
// `slot`.
void ControlFlow::take_gradients_out(const Block& block, const Op& op, const std::string& slot,
                                     const Values& own) {
  const std::span<const std::string> inputs = op.input_list(slot);
  const std::span<const std::string> gradients = op.output_list(grad_name(slot));
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto found = own.find(grad_name(inputs[i]));
    if (gradients[i] == kEmptyVar || found == own.end()) continue;
    const std::string inside = found->first + "@INSIDE";
    drafter_.current()[inside] = found->second;
    prepare_own(block, "sum", {gradients[i], inside}, gradients[i]);
    drafter_.current().erase(inside);
  }
}

void ControlFlow::prepare_own(const Block& block, std::string type, std::vector<std::string> x,
                              const std::string& out) {
  const Op& op = drafter_.draft().own_ops.emplace_back(std::move(type), Slots{{"X", std::move(x)}},
                                                       Slots{{"Out", {out}}});
  drafter_.prepare(block, op);
}

}  // namespace flotilla::plan
