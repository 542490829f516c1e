// flotilla/passes/fuse_optimizer.cc
//
// Updates all parameters of an optimizer in one op.
//
//     momentum(Param=w0, Grad=g0, Velocity=v0, LearningRate=lr) -> ParamOut=w0, VelocityOut=v0
//     momentum(Param=w1, Grad=g1, Velocity=v1, LearningRate=lr) -> ParamOut=w1, VelocityOut=v1
//   ==>
//     fused_momentum(Param=[w0, w1], Grad=[g0, g1], Velocity=[v0, v1], LearningRate=lr)
//         -> ParamOut=[w0, w1], VelocityOut=[v0, v1]
//
// Most parameters of a network are small: a step for each costs more than the arithmetic, and one
// op can share all elements out to the threads evenly. The fused op stands where the last of its
// members stood, so an op in between must not depend on a member.

#include "flotilla/passes/fuse_optimizer.h"

#include <algorithm>
#include <array>

#include "flotilla/op/infer.h"
#include "flotilla/passes/uses.h"
#include "flotilla/update/rule.h"

namespace flotilla::passes {
namespace {

// The decay that a rule takes may differ from parameter to parameter: the fused op has a list.
constexpr std::array<std::string_view, 2> kDecay = {"regularization_method",
                                                    "regularization_coeff"};

bool is_decay(std::string_view attr) {
  return std::find(kDecay.begin(), kDecay.end(), attr) != kDecay.end();
}

float decay_of(const Op& op, const OpDef& def) {
  const auto method = attr_as<std::string>(attr_or_default(op, def, kDecay[0]), kDecay[0]);
  return method.empty() ? 0 : attr_as<float>(attr_or_default(op, def, kDecay[1]), kDecay[1]);
}

// Only plain updates: dense f32 gradients, none of the optional slots and modes.
bool is_plain(const Block& block, const Op& op, const OpDef& def, const OpDef& fused) {
  for (const auto& [slot, vars] : op.inputs()) {
    if (vars.empty()) continue;
    if (vars.size() != 1 || fused.find_input(slot) == nullptr) return false;
    const Var* var = block.find_var(vars.front());
    if (var == nullptr || var->kind != VarKind::kTensor || var->dtype != f32) return false;
  }
  for (const auto& [slot, vars] : op.outputs()) {
    if (vars.size() > 1 || (vars.size() == 1 && fused.find_output(slot) == nullptr)) return false;
  }
  // What the fused op has lists of, this op must have.
  for (const Slot& slot : fused.inputs) {
    if (!slot.optional && op.input_list(slot.name).size() != 1) return false;
  }
  const std::vector<update::Setting>& settings = update::find_rule(op.type())->settings;
  return std::none_of(settings.begin(), settings.end(), [&](const update::Setting& setting) {
    const std::string& mode = setting.name;
    return setting.unfused && attr_as<bool>(attr_or_default(op, def, mode), mode);
  });
}

bool same_settings(const Op& a, const Op& b, const OpDef& def) {
  if (a.role() != b.role() || a.input("LearningRate") != b.input("LearningRate")) return false;
  if (a.attr_or<std::string>("op_device", "") != b.attr_or<std::string>("op_device", "")) {
    return false;
  }
  return std::all_of(def.attrs.begin(), def.attrs.end(), [&](const AttrSpec& spec) {
    return is_decay(spec.name) ||
           attr_or_default(a, def, spec.name) == attr_or_default(b, def, spec.name);
  });
}

struct Group {
  std::vector<size_t> ops = {};  // positions in the block, ascending
  std::vector<Touched> members = {};

  bool is_independent_of(const Touched& op) const {
    return std::none_of(members.begin(), members.end(),
                        [&](const Touched& member) { return op.depends_on(member); });
  }
};

// Decides only; leaves the block as it is.
std::vector<Group> find_groups(const Block& block) {
  std::vector<Group> open, found;
  const auto close = [&](auto begin) {
    std::move(begin, open.end(), std::back_inserter(found));
    open.erase(begin, open.end());
  };
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    const Touched touched(op);
    // The updates so far cannot sink below an op that depends on one.
    close(std::stable_partition(open.begin(), open.end(), [&](const Group& group) {
      return group.is_independent_of(touched);
    }));
    const update::Rule* rule = update::find_rule(op.type());
    if (rule == nullptr || !rule->fuses) continue;
    if (!is_plain(block, op, op_def(op.type()), op_def("fused_" + op.type()))) continue;
    const auto group = std::find_if(open.begin(), open.end(), [&](const Group& g) {
      const Op& first = block.op(g.ops.front());
      return first.type() == op.type() && same_settings(first, op, op_def(op.type()));
    });
    Group& target = group == open.end() ? open.emplace_back() : *group;
    target.ops.push_back(i);
    target.members.push_back(touched);
  }
  close(open.begin());
  std::erase_if(found, [](const Group& group) { return group.ops.size() < 2; });
  return found;
}

// One variable where the fused op's slot holds one, otherwise a list of them all.
void gather(const Slots& from, const std::vector<Slot>& known, Slots& to) {
  for (const auto& [slot, vars] : from) {
    const auto spec =
        std::find_if(known.begin(), known.end(), [&](const Slot& s) { return s.name == slot; });
    if (vars.empty() || spec == known.end()) continue;
    if (spec->list || to[slot].empty()) to[slot].insert(to[slot].end(), vars.begin(), vars.end());
  }
}

Attrs fused_attrs(const Block& block, const Group& group, const OpDef& def) {
  const Op& first = block.op(group.ops.front());
  Attrs attrs = marks_of(first);
  for (const AttrSpec& spec : def.attrs) {
    if (!is_decay(spec.name)) attrs.emplace(spec.name, attr_or_default(first, def, spec.name));
  }
  if (def.find_attr(kDecay[0]) != nullptr) {
    std::vector<float> decays;
    for (const size_t i : group.ops) decays.push_back(decay_of(block.op(i), def));
    attrs["regularization_coeffs"] = decays;
  }
  std::vector<std::string> pairs;
  for (const size_t i : group.ops) {
    const auto pair = block.op(i).attr_or<std::vector<std::string>>("op_role_var", {});
    pairs.insert(pairs.end(), pair.begin(), pair.end());
  }
  if (!pairs.empty()) attrs["op_role_var"] = pairs;
  return attrs;
}

Fusion fuse(const Block& block, const Group& group) {
  const OpDef& def = op_def(block.op(group.ops.front()).type());
  const OpDef& fused = op_def("fused_" + def.type);
  Slots inputs, outputs;
  for (const size_t i : group.ops) {
    gather(block.op(i).inputs(), fused.inputs, inputs);
    gather(block.op(i).outputs(), fused.outputs, outputs);
  }
  return {group.ops, Op(fused.type, inputs, outputs, fused_attrs(block, group, def))};
}

}  // namespace

void fuse_optimizer(PassContext& context) {
  Block& block = context.main.global_block();
  std::vector<Fusion> fusions;
  for (const Group& group : find_groups(block)) fusions.push_back(fuse(block, group));
  apply(block, std::move(fusions));
}

}  // namespace flotilla::passes
