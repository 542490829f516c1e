// flotilla/passes/lower.cc
//
//     lerp(X=x, Y=y, Weight=w) -> out    ==>   lerp(X=x, Y=y, Weight=w) -> out {@LOWERED@=true}
//                                              elementwise_sub(X=y, Y=x) -> a
//                                              elementwise_mul(X=a, Y=w) -> b
//                                              elementwise_add(X=x, Y=b) -> out
//
// A body is built in a program of its own, in which each variable that the op reads or gives a
// gradient of has a name by its slot: what stands in two slots of the op has two gradients. Then
// its ops move behind the op, under the names that the variables have there.

#include "flotilla/passes/lower.h"

#include <algorithm>

#include "flotilla/autodiff/backward.h"
#include "flotilla/op/build.h"
#include "flotilla/op/check.h"
#include "flotilla/op/kernel_dtype.h"
#include "flotilla/op/lower.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

InferContext::Metas metas_of(const Block& block, const Slots& slots) {
  InferContext::Metas metas;
  for (const auto& [slot, vars] : slots) {
    for (const std::string& name : vars) {
      const Var* var = block.find_var_recursive(name);
      metas[slot].push_back(var == nullptr ? VarMeta{}
                                           : VarMeta{.kind = var->kind,
                                                     .dtype = var->dtype,
                                                     .shape = var->shape,
                                                     .lod_level = var->lod_level});
    }
  }
  return metas;
}

bool lacks_kernel(const Block& block, const Op& op, const OpDef& def, Device device) {
  const DType dtype =
      kernel_dtype(op, def, metas_of(block, op.inputs()), metas_of(block, op.outputs()));
  return !has_kernel(def, device, dtype);
}

// The body of an op, on the way behind the op.
class Body {
 public:
  Body(Block& around, const Op& op) : around_(around), op_(op) {}

  // What computes the op.
  void compute(const OpDef& def) {
    const LowerContext body = lowered(def, with_inputs(op_, def));
    for (const auto& [place, var] : body.results()) {
      const auto names = op_.output_list(place.first);
      if (place.second < names.size()) give(var, names[place.second]);
    }
  }

  // The op is the gradient op of one that `forward` defines.
  void differentiate(const OpDef& forward) {
    const LowerContext body = lowered(forward, with_inputs(op_, forward));
    std::vector<Var*> targets, gradients_of_targets;
    for (const auto& [place, var] : body.results()) {
      const auto names = op_.input_list(grad_name(place.first));
      if (place.second >= names.size() || names[place.second] == kEmptyVar) continue;
      Var& target = block().var(var);
      targets.push_back(&target);
      gradients_of_targets.push_back(
          &add_input(grad_name(place.first), place.second, names[place.second]));
      gradients_of_targets.back()->shape = target.shape;
    }
    require(!targets.empty(), "{} has no gradient of an output to begin with", op_.type());
    std::vector<Var*> inputs;
    std::vector<std::string> wanted;
    for (const Slot& slot : forward.inputs) {
      const auto names = op_.output_list(grad_name(slot.name));
      for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] == kEmptyVar) continue;
        inputs.push_back(&block().var(inner_name(slot.name, i)));
        wanted.push_back(names[i]);
      }
    }
    const std::vector<std::string> found = gradients(targets, inputs, gradients_of_targets);
    for (size_t i = 0; i < found.size(); ++i) {
      give(found[i].empty() ? zeros_like(inputs[i]->name) : found[i], wanted[i]);
    }
  }

  // Puts the ops behind the op, which stands at `position`.
  void append_to(size_t position) {
    const Attrs marks = marks_of(op_);
    std::vector<Op> ops;
    for (const auto& made : block().ops()) {
      Attrs attrs = marks;
      for (const auto& [name, value] : made->attrs()) attrs.emplace(name, value);
      ops.emplace_back(made->type(), renamed(made->inputs()), renamed(made->outputs()),
                       std::move(attrs));
    }
    around_.op(position).set_attr(kLoweredAttr, true);
    around_.insert_before(position + 1, std::move(ops));
  }

 private:
  Block& block() const { return program_->global_block(); }

  static std::string inner_name(std::string_view slot, size_t i) {
    return fmt::format("{}:{}", slot, i);
  }

  // The variable `name` of the op's block, as slot and place of it in the body's program.
  Var& add_input(std::string_view slot, size_t i, const std::string& name) {
    const Var& var = around_.var(name);
    const std::string inner = inner_name(slot, i);
    outer_[inner] = name;
    return block().add_var({.name = inner,
                            .kind = var.kind,
                            .dtype = var.dtype,
                            .shape = var.shape,
                            .lod_level = var.lod_level});
  }

  // An op of the body's program like `op`, as far as `def` knows its slots and attributes.
  Op with_inputs(const Op& op, const OpDef& def) {
    Slots inputs, outputs;
    for (const Slot& slot : def.inputs) {
      const auto names = op.input_list(slot.name);
      for (size_t i = 0; i < names.size(); ++i) {
        const bool there = names[i] != kEmptyVar;
        if (there) add_input(slot.name, i, names[i]).stop_gradient = slot.no_grad;
        inputs[slot.name].push_back(there ? inner_name(slot.name, i) : names[i]);
      }
    }
    for (const Slot& slot : def.outputs) {
      const size_t count =
          std::max(op.output_list(slot.name).size(), op.input_list(grad_name(slot.name)).size());
      for (size_t i = 0; i < count; ++i) outputs[slot.name].push_back(inner_name(slot.name, i));
    }
    Attrs attrs;
    for (const auto& [name, value] : op.attrs()) {
      if (def.find_attr(name) != nullptr) attrs.emplace(name, value);
    }
    return Op(def.type, std::move(inputs), std::move(outputs), std::move(attrs));
  }

  // Refuses what the rules of the op refuse: `lower` takes them for granted, and a program from a
  // file may break them.
  void check(const OpDef& def) {
    check_counts(inner_op_, def);
    const InferContext::Metas inputs = metas_of(block(), inner_op_.inputs());
    SlotVars looked_at;
    check_inputs(inner_op_, def, inputs, looked_at);
    InferContext context(inner_op_, def, inputs, metas_of(block(), inner_op_.outputs()), false);
    if (def.infer != nullptr) def.infer(context);
  }

  LowerContext lowered(const OpDef& def, Op op) {
    inner_op_ = std::move(op);
    check(def);
    LowerContext context(block(), inner_op_, def);
    def.lower(context);
    return context;
  }

  std::string zeros_like(const std::string& var) {
    const std::string name = block().add_temporary("fill_zeros_like", f32, {}).name;
    append_op(block(), "fill_zeros_like", {{"X", {var}}}, {{"Out", {name}}});
    return name;
  }

  // `inner` becomes the variable `outer` of the op's block. What comes from outside, or is given
  // twice, is copied, and so is all where the op overwrites what it reads.
  void give(const std::string& inner, const std::string& outer) {
    if (outer == kEmptyVar) return;
    std::string from = inner;
    if (outer_.contains(inner) || op_.reads(outer)) {
      from = block().add_temporary("assign", f32, {}).name;
      append_op(block(), "assign", {{"X", {inner}}}, {{"Out", {from}}});
    }
    outer_[from] = outer;
  }

  Slots renamed(const Slots& slots) {
    Slots made;
    for (const auto& [slot, names] : slots) {
      for (const std::string& name : names) made[slot].push_back(outer_name(name));
    }
    return made;
  }

  std::string outer_name(const std::string& inner) {
    if (inner == kEmptyVar) return inner;
    const auto found = outer_.find(inner);
    if (found != outer_.end()) return found->second;
    const Var& var = block().var(inner);
    Var& made = around_.add_temporary(op_.type() + ".body", var.dtype, var.shape);
    made.kind = var.kind;
    made.lod_level = var.lod_level;
    return outer_[inner] = made.name;
  }

  Block& around_;
  const Op op_;
  const std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Op inner_op_;
  std::map<std::string, std::string> outer_;  // names of the body's program to those around
};

// Whether the gradient op has all that the body of its forward op reads.
bool has_inputs_of(const Op& op, const OpDef& def, const OpDef& forward) {
  return std::all_of(forward.inputs.begin(), forward.inputs.end(), [&](const Slot& slot) {
    const Slot* known = def.find_input(slot.name);
    if (known == nullptr || (known->shape_only && !slot.shape_only)) return false;
    return slot.optional || op.has_input(slot.name);
  });
}

// The definition whose body computes the op, its own or its forward op's; null where there is none.
const OpDef* body_of(const Op& op, const OpDef& def) {
  if (def.lower != nullptr) return &def;
  if (op.type().find("_grad") == std::string::npos) return nullptr;
  const OpDef* forward = forward_of(op.type());
  const bool lowers = forward != nullptr && forward->lower != nullptr;
  return lowers && has_inputs_of(op, def, *forward) ? forward : nullptr;
}

void lower_op(Block& block, size_t position, Device device) {
  const Op& op = block.op(position);
  const OpDef* def = find_op(op.type());
  const OpDef* source = def == nullptr ? nullptr : body_of(op, *def);
  if (source == nullptr || !lacks_kernel(block, op, *def, device)) return;
  Body body(block, op);
  if (source == def) {
    body.compute(*def);
  } else {
    body.differentiate(*source);
  }
  body.append_to(position);
}

}  // namespace

void lower(PassContext& context) {
  for (const auto& block : context.main.blocks()) {
    // What has come behind an op may have no kernel either.
    for (size_t position = 0; position < block->size(); ++position) {
      try {
        lower_op(*block, position, context.device);
      } catch (Error& error) {
        note_op(error, block->op(position));
        throw;
      }
    }
  }
}

}  // namespace flotilla::passes
