// flotilla/passes/fuse_bn_act.cc
//
// A batch norm and the relu behind it become one op, and so do their gradients; with a residual,
// the sum between the two as well.
//
//     batch_norm(X=x, ...) -> Y=n, ...
//     elementwise_add(X=n, Y=z) -> s      ==>   fused_bn_add_act(X=x, Z=z, ...) -> Y=y, ...
//     relu(X=s) -> y
//
//     relu_grad(Out=y, Out@GRAD=dy) -> X@GRAD=ds
//     elementwise_add_grad(X=n, Y=z, Out@GRAD=ds) -> X@GRAD=dn, Y@GRAD=dz
//     batch_norm_grad(X=x, Y@GRAD=dn, ...) -> X@GRAD=dx, ...
//   ==>
//     fused_bn_add_act_grad(X=x, Y=y, Y@GRAD=dy, ...) -> X@GRAD=dx, Z@GRAD=dz, ...
//
// These ops only move memory; fused, a layer reads and writes its activations once instead of two
// or three times. n and s are then never stored, so both sides change or none.

#include "flotilla/passes/fuse_bn_act.h"

#include <algorithm>
#include <optional>

#include "flotilla/op/op_def.h"
#include "flotilla/passes/fully_connected.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

// Positions of the ops that belong together. The sums are there for a residual only.
struct Chain {
  size_t norm = 0;
  std::optional<size_t> sum = {};
  size_t relu = 0;

  std::vector<size_t> forward() const {
    return sum.has_value() ? std::vector{norm, *sum, relu} : std::vector{norm, relu};
  }

  struct Back {
    size_t relu = 0;
    std::optional<size_t> sum = {};
    size_t norm = 0;
  };
  std::optional<Back> back = {};

  std::vector<size_t> backward() const {
    return back->sum.has_value() ? std::vector{back->relu, *back->sum, back->norm}
                                 : std::vector{back->relu, back->norm};
  }
};

bool holds_only(std::span<const std::string> slot, std::string_view name) {
  return slot.size() == 1 && slot.front() == name;
}

std::span<const std::string> either_list(const Op& op, std::string_view slot) {
  const auto found = op.input_list(slot);
  return found.empty() ? op.output_list(slot) : found;
}

// The only op after `position` that reads the elements of the variable it writes, if it is of this
// type.
std::optional<size_t> next_op(const Uses& uses, size_t position, const std::string& out,
                              std::string_view type) {
  if (!uses.is_temporary(out)) return std::nullopt;
  const std::optional<size_t> reader = uses.only_reader(out);
  if (!reader.has_value() || *reader <= position) return std::nullopt;
  const Op& next = uses.block().op(*reader);
  const bool fits = next.type() == type && next.role() == uses.block().op(position).role();
  return fits ? reader : std::nullopt;
}

// The operand of a sum that is not `name`; "" where the sum is of another sort.
std::string other_operand(const Block& block, const Op& sum, const std::string& name) {
  const std::string &x = sum.input("X"), &y = sum.input("Y");
  if (x == y || block.var(x).shape != block.var(y).shape ||
      block.var(x).dtype != block.var(y).dtype) {
    return "";
  }
  return x == name ? y : x;
}

// The forward half, from the batch norm on.
std::optional<Chain> match_forward(const Uses& uses, size_t position, bool residual) {
  const Block& block = uses.block();
  const Op& norm = block.op(position);
  if (norm.type() != "batch_norm") return std::nullopt;
  Chain chain{.norm = position};
  const std::string& normed = norm.output("Y");
  if (residual) {
    chain.sum = next_op(uses, position, normed, "elementwise_add");
    if (!chain.sum.has_value()) return std::nullopt;
    const std::string other = other_operand(block, block.op(*chain.sum), normed);
    // One sum may stand behind two batch norms: the later one takes it.
    const std::vector<size_t>& writers = uses.writers(other);
    if (other.empty() || (writers.size() == 1 && writers.front() > position &&
                          block.op(writers.front()).type() == "batch_norm")) {
      return std::nullopt;
    }
  }
  const size_t last = chain.sum.value_or(position);
  const auto relu = next_op(uses, last, residual ? block.op(last).output("Out") : normed, "relu");
  if (!relu.has_value() || uses.writers(block.op(*relu).output("Out")).size() != 1) {
    return std::nullopt;
  }
  chain.relu = *relu;
  return uses.may_sink(chain.forward()) ? std::optional(chain) : std::nullopt;
}

// The only reader of an op's output, which nobody else sees.
std::optional<size_t> private_reader(const Uses& uses, std::span<const std::string> out,
                                     std::string_view type) {
  if (out.size() != 1 || !uses.is_temporary(out.front())) return std::nullopt;
  const std::vector<size_t>& readers = uses.readers(out.front());
  if (readers.size() != 1 || uses.block().op(readers.front()).type() != type) return std::nullopt;
  return readers.front();
}

std::optional<Chain::Back> match_backward(const Uses& uses, const Chain& chain, size_t relu_grad) {
  const Block& block = uses.block();
  const Op& norm = block.op(chain.norm);
  Chain::Back back{.relu = relu_grad};
  auto passed = block.op(relu_grad).output_list("X@GRAD");
  if (chain.sum.has_value()) {
    back.sum = private_reader(uses, passed, "elementwise_add_grad");
    if (!back.sum.has_value()) return std::nullopt;
    const bool left = block.op(*chain.sum).input("X") == norm.output("Y");
    passed = block.op(*back.sum).output_list(left ? "X@GRAD" : "Y@GRAD");
  }
  const auto norm_grad = private_reader(uses, passed, "batch_norm_grad");
  if (!norm_grad.has_value()) return std::nullopt;
  back.norm = *norm_grad;
  const Op& grad = block.op(back.norm);
  const bool belongs = holds_only(grad.input_list("Y@GRAD"), passed.front()) &&
                       holds_only(grad.input_list("X"), norm.input("X")) &&
                       holds_only(grad.input_list("SavedMean"), norm.output("SavedMean"));
  return belongs ? std::optional(back) : std::nullopt;
}

// The gradient ops that read what the forward half writes: those of relu and batch norm.
std::vector<size_t> gradient_readers(const Uses& uses, const Chain& chain, std::string_view type) {
  const Block& block = uses.block();
  const std::string& var = type == "relu_grad" ? block.op(chain.relu).output("Out")
                                               : block.op(chain.norm).output("SavedMean");
  std::vector<size_t> found = uses.readers(var);
  std::erase_if(found, [&](size_t reader) { return block.op(reader).type() != type; });
  return found;
}

// Decides only; leaves the block as it is.
std::optional<Chain> match(const Uses& uses, size_t position, bool residual) {
  std::optional<Chain> chain = match_forward(uses, position, residual);
  if (!chain.has_value()) return std::nullopt;
  const std::vector<size_t> relu_grads = gradient_readers(uses, *chain, "relu_grad");
  const std::vector<size_t> norm_grads = gradient_readers(uses, *chain, "batch_norm_grad");
  std::vector<size_t> fused = chain->forward();
  if (!relu_grads.empty() || !norm_grads.empty()) {
    if (relu_grads.size() != 1 || norm_grads.size() != 1) return std::nullopt;
    chain->back = match_backward(uses, *chain, relu_grads.front());
    if (!chain->back.has_value() || chain->back->norm != norm_grads.front()) return std::nullopt;
    const std::vector<size_t> backward = chain->backward();
    if (!uses.may_sink(backward)) return std::nullopt;
    fused.insert(fused.end(), backward.begin(), backward.end());
  }
  const Block& block = uses.block();
  for (const size_t i : chain->forward()) {
    if (i == chain->relu) continue;
    const std::string& gone = block.op(i).output(i == chain->norm ? "Y" : "Out");
    if (uses.is_measured(gone, fused)) return std::nullopt;
  }
  return chain;
}

// The variables of the fused op's slots: those given, else what one of the ops has under that name.
Slots fill_slots(const std::vector<Slot>& slots, const Slots& given,
                 std::initializer_list<const Op*> ops) {
  Slots filled;
  for (const Slot& slot : slots) {
    if (const auto found = given.find(slot.name); found != given.end()) {
      filled.insert(*found);
      continue;
    }
    for (const Op* op : ops) {
      const auto vars = either_list(*op, slot.name);
      if (vars.empty()) continue;
      filled[slot.name] = {vars.begin(), vars.end()};
      break;
    }
  }
  return filled;
}

Attrs fused_attrs(const OpDef& def, const Op& norm, const Op& first) {
  Attrs attrs = marks_of(first);
  for (const AttrSpec& spec : def.attrs) {
    if (const Attr* found = norm.find_attr(spec.name)) attrs.emplace(spec.name, *found);
  }
  return attrs;
}

// Where a program of another version has no variable for what the fused gradient needs.
void add_missing_outputs(Block& block, const OpDef& def, Slots& outputs) {
  for (const Slot& slot : def.outputs) {
    if (slot.optional || outputs.contains(slot.name)) continue;
    outputs[slot.name] = {
        block.add_temporary(outputs.at("Y").front() + "." + slot.name, f32, {}).name};
  }
}

void fuse(Block& block, const Chain& chain, std::vector<Fusion>& fusions) {
  const Op &norm = block.op(chain.norm), &relu = block.op(chain.relu);
  const OpDef& def = op_def(chain.sum.has_value() ? "fused_bn_add_act" : "fused_bn_act");
  const std::string& y = relu.output("Out");
  Slots given_in, given_out = {{"Y", {y}}};
  if (chain.sum.has_value()) {
    given_in["Z"] = {other_operand(block, block.op(*chain.sum), norm.output("Y"))};
  }
  Slots inputs = fill_slots(def.inputs, given_in, {&norm});
  Slots outputs = fill_slots(def.outputs, given_out, {&norm});
  add_missing_outputs(block, def, outputs);
  const Op fused(def.type, inputs, outputs, fused_attrs(def, norm, norm));
  fusions.push_back({chain.forward(), fused});
  if (!chain.back.has_value()) return;

  const OpDef& grad_def = op_def(def.type + "_grad");
  const Op& relu_grad = block.op(chain.back->relu);
  const Op& norm_grad = block.op(chain.back->norm);
  Slots grads_in = {{"Y", {y}}, {"Y@GRAD", {relu_grad.input("Out@GRAD")}}}, grads_out;
  if (chain.back->sum.has_value()) {
    const bool left = block.op(*chain.sum).input("X") == norm.output("Y");
    const auto other = block.op(*chain.back->sum).output_list(left ? "Y@GRAD" : "X@GRAD");
    if (!other.empty()) grads_out["Z@GRAD"] = {other.begin(), other.end()};
  }
  Slots grad_inputs = fill_slots(grad_def.inputs, grads_in, {&norm_grad, &fused});
  Slots grad_outputs = fill_slots(grad_def.outputs, grads_out, {&norm_grad});
  fusions.push_back({chain.backward(), Op(grad_def.type, grad_inputs, grad_outputs,
                                          fused_attrs(grad_def, norm, relu_grad))});
}

void run(PassContext& context, bool residual) {
  Block& block = context.main.global_block();
  const std::string type = residual ? "fused_bn_add_act" : "fused_bn_act";
  const Uses uses(block, context);
  std::vector<Chain> chains;
  for (size_t i = 0; i < block.size(); ++i) {
    const std::optional<Chain> found = match(uses, i, residual);
    if (!found.has_value()) continue;
    const Var& x = block.var(block.op(i).input("X"));
    if (!has_kernel_for(type, x)) continue;
    if (found->back.has_value() && !has_kernel_for(type + "_grad", x)) continue;
    chains.push_back(*found);
  }
  std::vector<Fusion> fusions;
  for (const Chain& chain : chains) fuse(block, chain, fusions);
  apply(block, std::move(fusions));
}

}  // namespace

void fuse_bn_act(PassContext& context) { run(context, false); }

void fuse_bn_add_act(PassContext& context) { run(context, true); }

}  // namespace flotilla::passes
