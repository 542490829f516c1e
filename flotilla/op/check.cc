#include "flotilla/op/check.h"

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/op/needs_value.h"

namespace flotilla {
namespace {

constexpr std::string_view kGradOp = "_grad";

using Metas = InferContext::Metas;

size_t count_of(const Metas& metas, const std::string& slot) {
  const auto found = metas.find(slot);
  return found == metas.end() ? 0 : found->second.size();
}

// The outputs of the forward op: as its inputs tell them, where its gradient has them all, or those
// that its gradient has.
Metas forward_outputs(const Op& op, const OpDef& forward, const Metas& inputs) {
  Metas ins, outs, given;
  bool complete = true;
  for (const Slot& slot : forward.inputs) {
    if (const auto found = inputs.find(slot.name); found != inputs.end()) ins.insert(*found);
    const bool may_lack = slot.optional && !slot.decides_shape;
    complete = complete && (may_lack || count_of(ins, slot.name) > 0);
  }
  for (const Slot& slot : forward.outputs) {
    if (const auto found = inputs.find(slot.name); found != inputs.end()) given.insert(*found);
    outs[slot.name].resize(
        std::max(count_of(inputs, slot.name), count_of(inputs, grad_name(slot.name))));
  }
  if (!complete) return given;
  try {
    InferContext context(op, forward, std::move(ins), std::move(outs), true);
    forward.infer(context);
    return context.outputs();
  } catch (const NeedsValue&) {
    return given;
  }
}

}  // namespace

void check_counts(const Op& op, const OpDef& def) {
  const auto check = [&](const std::vector<Slot>& slots, const Slots& given, const char* side) {
    for (const Slot& slot : slots) {
      const auto found = given.find(slot.name);
      const size_t count = found == given.end() ? 0 : found->second.size();
      require(slot.list || count <= 1, "{} {} of {} holds one variable, but {} were given", side,
              slot.name, def.type, count);
    }
  };
  check(def.inputs, op.inputs(), "input");
  check(def.outputs, op.outputs(), "output");
  for (const Slot& slot : def.inputs) {
    const auto vars = op.input_list(slot.name);
    // Of several outputs, some may be without a gradient.
    const bool may_lack = slot.optional || (slot.list && slot.name.ends_with(kGradSuffix));
    const auto lacking = std::count(vars.begin(), vars.end(), kEmptyVar);
    require(may_lack || (!vars.empty() && lacking == 0), "{} needs the input \"{}\" ({})", def.type,
            slot.name, slot.doc);
  }
}

void check_outputs(const Op& op, const Metas& outputs) {
  for (const auto& [slot, metas] : outputs) {
    for (const VarMeta& meta : metas) {
      check_extents(meta.shape, fmt::format("output {} of {}", slot, op.type()));
    }
  }
}

void check_gradient(const Op& op, const Metas& inputs) {
  if (!op.type().ends_with(kGradOp)) return;
  const OpDef* forward =
      find_op(std::string_view(op.type()).substr(0, op.type().size() - kGradOp.size()));
  if (forward == nullptr || forward->infer == nullptr) return;
  for (const auto& [slot, metas] : forward_outputs(op, *forward, inputs)) {
    for (const std::string& name : {slot, grad_name(slot)}) {
      const auto found = inputs.find(name);
      const size_t count = found == inputs.end() ? 0 : found->second.size();
      for (size_t i = 0; i < std::min(count, metas.size()); ++i) {
        const VarMeta &given = found->second[i], &made = metas[i];
        const bool comparable = given.kind == VarKind::kTensor && made.kind == VarKind::kTensor &&
                                given.shape.known() && made.shape.known();
        require(!comparable || given.shape.numel() == made.shape.numel(),
                "{} of {} must have the elements of shape {}, but has shape {}", name, op.type(),
                made.shape, given.shape);
      }
    }
  }
}

}  // namespace flotilla
