#include "flotilla/op/export_to_paddle.h"

#include <algorithm>

#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

constexpr std::string_view kGradOp = "_grad";

// Real Paddle has no defaults for the attributes of gradient ops.
void add_attrs(Op& op, const OpDef& def) {
  for (const AttrSpec& spec : def.attrs) {
    const bool has_default = !std::holds_alternative<std::monostate>(spec.initial);
    if (has_default && !op.attrs().contains(spec.name)) op.set_attr(spec.name, spec.initial);
  }
  // 1.8 asks for this hint too.
  if (!op.attrs().contains("use_mkldnn")) op.set_attr("use_mkldnn", false);
}

// Real Paddle refuses a conditional_block without the slot Input, even where nothing is in it.
void add_empty_lists(Op& op, const OpDef& def) {
  for (const Slot& slot : def.inputs) {
    if (slot.list && slot.optional && !op.inputs().contains(slot.name)) op.set_input(slot.name, {});
  }
}

// The op that the gradient op at `position` belongs to, which has the same `input`; or null.
const Op* forward_of(const Block& block, size_t position, std::string_view input) {
  const Op& grad = block.op(position);
  const std::string type = grad.type().substr(0, grad.type().size() - kGradOp.size());
  for (size_t at = position; at-- > 0;) {
    const Op& op = block.op(at);
    if (op.type() == type && std::ranges::equal(op.input_list(input), grad.input_list(input))) {
      return &op;
    }
  }
  return nullptr;
}

}  // namespace

void add_output_of_forward(const Block& block, size_t position, std::string_view input,
                           std::string_view output) {
  Op& op = block.op(position);
  const Op* forward = op.has_input(output) ? nullptr : forward_of(block, position, input);
  if (forward == nullptr) return;
  const auto vars = forward->output_list(output);
  op.set_input(output, {vars.begin(), vars.end()});
}

void ask_for_gradient(Block& block, Op& op, std::string_view slot, std::string_view like) {
  const auto written = op.output_list(grad_name(slot));
  const bool asked = !written.empty() && written.front() != kEmptyVar;
  const Var* var = op.has_input(like) ? block.find_var_recursive(op.input(like)) : nullptr;
  if (asked || var == nullptr) return;
  const std::string unread = fmt::format("{}@UNREAD", grad_name(var->name));
  op.set_output(grad_name(slot), {unread});
  block.add_var({.name = unread, .dtype = var->dtype, .shape = var->shape});
}

void ask_for_scale_and_bias(Block& block, Op& op) {
  if (!op.has_output("X@GRAD")) return;
  for (const char* slot : {"Scale", "Bias"}) ask_for_gradient(block, op, slot, slot);
}

std::shared_ptr<Program> export_to_paddle(const Program& program) {
  std::shared_ptr<Program> copy = program.clone();
  for (int32_t b = 0; b < copy->num_blocks(); ++b) {
    Block& block = copy->block(b);
    for (size_t i = 0; i < block.size(); ++i) {
      Op& op = block.op(i);
      const OpDef* def = find_op(op.type());
      if (def == nullptr) continue;
      add_empty_lists(op, *def);
      if (op.type().ends_with(kGradOp) || op.type().ends_with("_grad2")) add_attrs(op, *def);
      if (def->to_paddle != nullptr) def->to_paddle(block, i);
    }
  }
  return copy;
}

}  // namespace flotilla
