#include "flotilla/op/check.h"

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/op/needs_value.h"

namespace flotilla {
namespace {

using Metas = InferContext::Metas;

// No extent of a shape: what stands in an output until `infer` says otherwise.
constexpr int64_t kUnset = -2;

// From this rank on tensors may lie in blocked layouts, whose padding depends on each extent.
constexpr int64_t kBlockedRank = 3;

size_t count_of(const Metas& metas, std::string_view slot) {
  const auto found = metas.find(slot);
  return found == metas.end() ? 0 : found->second.size();
}

bool is_dense(const VarMeta& meta) { return meta.kind == VarKind::kTensor && meta.shape.known(); }

// The variables of one slot that are there.
template <typename F>
void for_each_there(const Metas& metas, std::span<const std::string> names, std::string_view slot,
                    F f) {
  const auto found = metas.find(slot);
  if (found == metas.end()) return;
  for (size_t i = 0; i < found->second.size(); ++i) {
    if (i >= names.size() || names[i] != kEmptyVar) f(i, found->second[i]);
  }
}

// Slots beside the rules of the definition.
class SlotRules {
 public:
  SlotRules(const Op& op, const Metas& inputs, SlotVars& looked_at)
      : op_(op), inputs_(inputs), looked_at_(looked_at) {}

  void check(const Slot& slot, std::span<const std::string> names, const Metas& metas) {
    for_each_there(metas, names, slot.name, [&](size_t i, const VarMeta& meta) {
      const std::string what =
          i < names.size() ? fmt::format("{} \"{}\"", slot.name, names[i]) : std::string(slot.name);
      require(meta.kind != VarKind::kSelectedRows || meta.shape.rank() > 0,
              "{} of {} holds sparse rows, but no shape says how wide they are", what, op_.type());
      require(!slot.one || !meta.shape.known() || meta.shape.numel() == 1,
              "{} must hold one number, but has shape {}", what, meta.shape);
      if (!slot.like.empty()) check_like(slot, what, i, meta.shape);
      if (slot.one || !slot.like.empty()) looked_at_.insert(slot.name, i);
    });
  }

 private:
  void check_like(const Slot& slot, const std::string& what, size_t i, const Shape& shape) {
    const auto found = inputs_.find(slot.like);
    require(found != inputs_.end() && i < found->second.size(),
            "{} of {} has no variable in {} that it is like", what, op_.type(), slot.like);
    const Shape& model = found->second[i].shape;
    require(shape == model || !shape.known() || !model.known(),
            "{} must have shape {}, as {} \"{}\" has, but has shape {}", what, model, slot.like,
            op_.input_list(slot.like)[i], shape);
  }

  const Op& op_;
  const Metas& inputs_;
  SlotVars& looked_at_;
};

// What a gradient op tells of the inputs and outputs of its forward op: those that it has, those
// whose gradient it has and that are like an input, and those that are like either.
Metas forward_metas(const OpDef& forward, const Metas& inputs) {
  Metas known;
  const auto take = [&](const std::string& slot, std::string_view from, const Metas& metas) {
    const auto found = metas.find(from);
    return found != metas.end() && known.try_emplace(slot, found->second).second;
  };
  for (const Slot& slot : forward.inputs) take(slot.name, slot.name, inputs);
  // Gradients first: they have the dtype of the variable, a mask of it has not.
  for (const Slot& slot : forward.outputs) {
    if (!slot.like.empty()) take(slot.like, grad_name(slot.name), inputs);
  }
  for (const Slot& slot : forward.outputs) {
    if (!slot.like.empty()) take(slot.like, slot.name, inputs);
  }
  for (const Slot& slot : forward.outputs) {
    if (slot.like.empty() || !take(slot.name, slot.like, known)) {
      take(slot.name, slot.name, inputs);
    }
  }
  return known;
}

struct Told {
  Metas outputs = {};
  bool inferred = false;  // then their dtypes are told, too
};

// The outputs of the forward op: as its inputs tell them, where they are all known, or as far as
// they are known themselves. An optional input that the gradient op cannot have may have been
// there.
Told forward_outputs(const Op& op, const OpDef& forward, const Metas& inputs, SlotVars& looked_at) {
  const OpDef& gradient = op_def(op.type());
  const Metas known = forward_metas(forward, inputs);
  Metas ins, outs, given;
  bool complete = forward.infer != nullptr;
  for (const Slot& slot : forward.inputs) {
    if (const auto found = known.find(slot.name); found != known.end()) ins.insert(*found);
    const bool may_lack = slot.optional && gradient.find_input(slot.name) != nullptr;
    complete = complete && (may_lack || count_of(ins, slot.name) > 0);
  }
  for (const Slot& slot : forward.outputs) {
    if (const auto found = known.find(slot.name); found != known.end()) given.insert(*found);
    outs[slot.name].resize(
        std::max(count_of(inputs, slot.name), count_of(inputs, grad_name(slot.name))));
  }
  if (!complete) return {given};
  try {
    InferContext context(op, forward, std::move(ins), std::move(outs), true);
    forward.infer(context);
    looked_at.insert(context.looked_at());
    return {context.outputs(), true};
  } catch (const NeedsValue&) {
    return {given};
  }
}

void check_same_size(const Op& op, const std::string& name, const VarMeta& given,
                     const VarMeta& made) {
  if (!is_dense(given) || !is_dense(made)) return;
  // Kernels walk over one by the extents of the other. A number may be [] or [1].
  const bool numbers = given.shape.numel() == 1 && made.shape.numel() == 1 &&
                       std::max(given.shape.rank(), made.shape.rank()) < kBlockedRank;
  require(numbers || given.shape == made.shape, "{} of {} must have shape {}, but has shape {}",
          name, op.type(), made.shape, given.shape);
}

// Kernels that only move bytes take both for the same.
void check_same_dtype(const Op& op, const std::string& name, const VarMeta& given,
                      const VarMeta& made) {
  require(given.dtype == made.dtype,
          "{} of {} must be {}, like the variable whose gradient it is, but is {}", name, op.type(),
          made.dtype, given.dtype);
}

void compare(const Op& op, const OpDef& forward, const Metas& inputs, const Metas& outputs,
             SlotVars& looked_at) {
  const Told told = forward_outputs(op, forward, inputs, looked_at);
  for (const auto& [slot, metas] : told.outputs) {
    for (const std::string& name : {slot, grad_name(slot)}) {
      for_each_there(inputs, op.input_list(name), name, [&](size_t i, const VarMeta& given) {
        if (i >= metas.size()) return;
        looked_at.insert(name, i);
        check_same_size(op, name, given, metas[i]);
        if (told.inferred && name != slot) check_same_dtype(op, name, given, metas[i]);
      });
    }
  }
  for (const Slot& slot : forward.inputs) {
    const auto variables = inputs.find(slot.name);
    if (variables == inputs.end()) continue;
    const std::string name = grad_name(slot.name);
    for_each_there(outputs, op.output_list(name), name, [&](size_t i, const VarMeta& gradient) {
      if (i < variables->second.size()) {
        check_same_size(op, name, gradient, variables->second[i]);
        check_same_dtype(op, name, gradient, variables->second[i]);
      }
    });
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

VarMeta unset(VarMeta declared) {
  declared.shape = {kUnset};
  return declared;
}

bool is_unset(const VarMeta& meta) { return meta.shape == Shape{kUnset}; }

void check_inputs(const Op& op, const OpDef& def, const Metas& inputs, SlotVars& looked_at) {
  SlotRules rules(op, inputs, looked_at);
  for (const Slot& slot : def.inputs) rules.check(slot, op.input_list(slot.name), inputs);
}

void check_outputs(const Op& op, const OpDef& def, const Metas& inputs, const Metas& outputs) {
  for (const auto& [slot, metas] : outputs) {
    const Slot* known = def.find_output(slot);
    for (size_t i = 0; i < metas.size(); ++i) {
      if (is_unset(metas[i]) && known != nullptr && known->optional) continue;
      require(!is_unset(metas[i]), "{} has no rule for variable {} of its output {}", op.type(), i,
              slot);
      check_extents(metas[i].shape, fmt::format("output {} of {}", slot, op.type()));
    }
  }
  SlotVars looked_at;
  SlotRules rules(op, inputs, looked_at);
  for (const Slot& slot : def.outputs) rules.check(slot, op.output_list(slot.name), outputs);
}

void check_gradient(const Op& op, const Metas& inputs, const Metas& outputs, SlotVars& looked_at) {
  const OpDef* forward = forward_of(op.type());
  if (forward != nullptr) compare(op, *forward, inputs, outputs, looked_at);
}

}  // namespace flotilla
