#include "flotilla/op/spell_out.h"

#include <algorithm>

#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

constexpr std::string_view kGradOp = "_grad";

// Real Paddle has no defaults for the attributes of gradient ops.
void add_attrs(Op& op, const OpDef& def) {
  for (const AttrSpec& spec : def.attrs) {
    const bool has_default = !std::holds_alternative<std::monostate>(spec.initial);
    if (has_default && !op.has_attr(spec.name)) op.set_attr(spec.name, spec.initial);
  }
  // 1.8 asks for this hint too.
  if (!op.has_attr("use_mkldnn")) op.set_attr("use_mkldnn", false);
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

// Gives a gradient op an output of its forward op, which 1.8 reads and 2.6 and Flotilla do not.
void add_output_of_forward(const Block& block, size_t position, std::string_view input,
                           std::string_view output) {
  Op& op = block.op(position);
  const Op* forward = op.has_input(output) ? nullptr : forward_of(block, position, input);
  if (forward == nullptr) return;
  const auto vars = forward->output_list(output);
  op.set_input(output, {vars.begin(), vars.end()});
}

// Kernels of real Paddle compute the other gradients wrongly, read through a null pointer, or
// refuse, where nobody asks for that of `slot`. It is as large as the variable in the slot `like`.
void ask_for_gradient(Block& block, Op& op, std::string_view slot, std::string_view like) {
  const auto written = op.output_list(grad_name(slot));
  const bool asked = !written.empty() && written.front() != kEmptyVar;
  const Var* var = op.has_input(like) ? block.find_var_recursive(op.input(like)) : nullptr;
  if (asked || var == nullptr) return;
  const std::string unread = fmt::format("{}@UNREAD", grad_name(var->name));
  op.set_output(grad_name(slot), {unread});
  block.add_var({.name = unread, .dtype = var->dtype, .shape = var->shape});
}

// 1.8 and 2.6 have no op of this name: a turn is undone by another.
void turn_back(Op& op) {
  if (!op.has_input("Y@GRAD") || !op.has_output("X@GRAD")) return;
  op.set_type("sequence_reverse");
  op.set_input("X", {op.input("Y@GRAD")});
  op.set_output("Y", {op.output("X@GRAD")});
  op.set_input("Y@GRAD", {});
  op.set_output("X@GRAD", {});
}

// 2.6 reads them where the statistics are those of all batches.
void add_statistics(Op& op) {
  for (const std::string slot : {"Mean", "Variance"}) {
    const auto vars = op.input_list(slot + "Out");
    if (!op.has_input(slot)) op.set_input(slot, {vars.begin(), vars.end()});
  }
}

// 2.6 calls the slot differently from 1.8.
void add_outputs_of_meshgrid(Op& op) {
  const auto grads = op.input_list("Out@GRAD");
  if (!op.has_input("outputs@GRAD")) op.set_input("outputs@GRAD", {grads.begin(), grads.end()});
}

// 2.6 wants a gradient without axes, which is what a fill of no extents makes there.
void drop_axes_of_loss(const Block& block, size_t position) {
  if (!block.op(position).has_input("Out@GRAD")) return;
  const std::string grad = block.op(position).input("Out@GRAD");
  for (size_t at = position; at-- > 0;) {
    Op& op = block.op(at);
    if (!op.writes(grad)) continue;
    if (op.type() == "fill_constant") op.set_attr("shape", std::vector<int64_t>{});
    return;
  }
}

// 1.8 refuses a hierarchical_sigmoid without it; its W is always a parameter.
void add_weight_of_tree(const Block& block, Op& op) {
  const Var* w = op.has_input("W") ? block.find_var_recursive(op.input("W")) : nullptr;
  if (w != nullptr && w->persistable && !op.has_output("W_Out")) op.set_output("W_Out", {w->name});
}

// Real Paddle wants chosen samples to be one variable with what comes out.
void join_chosen_samples(Block& block, Op& op) {
  for (const char* slot : {"Samples", "Probabilities"}) {
    const std::string chosen = std::string("Customized") + slot;
    if (!op.has_input(chosen) || !op.has_output(slot)) continue;
    const std::string from = op.output(slot), to = op.input(chosen);
    for (const auto& each : block.ops()) {
      each->rename_input(from, to);
      each->rename_output(from, to);
    }
  }
}

// The attribute that tells updates of 2.x from those of 1.x, whose formula is another (take_in.h).
void name_release(Op& op, std::string_view mark) {
  const bool old = op.attr_or<bool>(mark, false);
  op.remove_attr(mark);
  if (!old && !op.has_attr("multi_precision")) op.set_attr("multi_precision", false);
}

void add_slots(Block& block, size_t position) {
  Op& op = block.op(position);
  const std::string& type = op.type();
  if (type == "hierarchical_sigmoid") add_weight_of_tree(block, op);
  if (type == "sample_logits") join_chosen_samples(block, op);
  if (type == "hierarchical_sigmoid_grad") ask_for_gradient(block, op, "W", "W");
  if (type == "leaky_relu_grad") add_output_of_forward(block, position, "X", "Out");
  if (type == "gru_grad") add_output_of_forward(block, position, "Input", "BatchHidden");
  if (type == "batch_norm_grad") add_statistics(op);
  if (type == "meshgrid_grad") add_outputs_of_meshgrid(op);
  if (type == "nll_loss_grad") drop_axes_of_loss(block, position);
  if (type == "sequence_scatter_grad") ask_for_gradient(block, op, "X", "Out@GRAD");
  if ((type == "layer_norm_grad" || type == "batch_norm_grad") && op.has_output("X@GRAD")) {
    ask_for_gradient(block, op, "Scale", "Scale");
    ask_for_gradient(block, op, "Bias", "Bias");
  }
  if (type == "sequence_reverse_grad") turn_back(op);
}

}  // namespace

std::shared_ptr<Program> spell_out(const Program& program) {
  std::shared_ptr<Program> copy = program.clone();
  for (int32_t b = 0; b < copy->num_blocks(); ++b) {
    Block& block = copy->block(b);
    for (size_t i = 0; i < block.size(); ++i) {
      Op& op = block.op(i);
      if (op.type() == "adam") name_release(op, "plain_epsilon");
      if (op.type() == "lamb") name_release(op, "plain_moments");
      const OpDef* def = find_op(op.type());
      if (def == nullptr) continue;
      add_empty_lists(op, *def);
      if (op.type().ends_with(kGradOp) || op.type().ends_with("_grad2")) add_attrs(op, *def);
      add_slots(block, i);
    }
  }
  return copy;
}

}  // namespace flotilla
