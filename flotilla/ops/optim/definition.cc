// flotilla/ops/optim/definition.cc
//
// An op for each update rule:
//
//   <rule>(Param, Grad, LearningRate, states, powers, MasterParam, SkipUpdate, tensors)
//       -> ParamOut, states, powers, MasterParamOut
//   fused_<rule>(Param, Grad, states, powers, LearningRate) -> ParamOut, states, powers
//
// All slots of a fused op but LearningRate are lists, and entry i of each belongs together; passes
// make it of single ops with the same attributes. What the rule names as its first inputs comes
// before the others. The slots say which shapes must agree (op/check.h).

#include <algorithm>

#include "flotilla/ops/optim/update.h"

namespace flotilla::ops {
namespace {

// The decays of a fused op, one for each parameter.
const AttrSpec kCoeffs = {
    "regularization_coeffs", std::vector<float>{},
    "the same for each parameter by itself; empty: regularization_coeff for all"};

// A slot that must have the extents of the parameter: its gradient, its state, the new parameter.
Slot like_param(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .like = "Param"};
}
Slot one_number(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .one = true};
}
Slot in_place_of(Slot slot, std::string out) {
  slot.doc = "in the place of " + slot.name;
  slot.name = std::move(out);
  return slot;
}

Slot state_slot(const update::State& state) {
  Slot slot = like_param(state.slot, state.doc);
  slot.optional = !state.where.empty();
  return slot;
}

Slot rate_slot(const update::Rule& rule) {
  Slot slot = one_number("LearningRate", "one number");
  if (rule.lr) {
    slot.optional = true;
    slot.doc = fmt::format("one number; by default {}", *rule.lr);
  }
  return slot;
}

Slot grad_slot(const update::Rule& rule) {
  const bool sparse = rule.sparse != update::Sparse::kRefused;
  return like_param("Grad",
                    sparse ? "gradient of Param, dense or sparse rows" : "gradient of Param");
}

bool has_master(const update::Rule& rule) {
  return rule.find_setting("multi_precision") != nullptr;
}

std::vector<Slot> inputs_of(const update::Rule& rule) {
  std::vector<Slot> slots = {{"Param", "parameter"}, grad_slot(rule), rate_slot(rule)};
  for (const update::State& state : rule.states) slots.push_back(state_slot(state));
  for (const update::Power& power : rule.powers) {
    slots.push_back(one_number(power.slot, power.doc));
  }
  if (has_master(rule)) {
    slots.push_back({.name = "MasterParam",
                     .doc = "copy in f32 of a 16-bit parameter; not read here",
                     .optional = true});
  }
  const auto add_optional = [&](const std::string& name, std::string doc) {
    slots.push_back(one_number(name, std::move(doc)));
    slots.back().optional = true;
  };
  if (rule.skips) add_optional("SkipUpdate", "one bool: leave everything as it is");
  for (const update::Setting& setting : rule.settings) {
    if (!setting.tensor.empty()) {
      add_optional(setting.tensor, "one number in the place of " + setting.name);
    }
  }
  const auto place = [&](const Slot& slot) {
    return std::find(rule.inputs.begin(), rule.inputs.end(), slot.name) - rule.inputs.begin();
  };
  std::stable_sort(slots.begin(), slots.end(),
                   [&](const Slot& a, const Slot& b) { return place(a) < place(b); });
  return slots;
}

std::vector<Slot> outputs_of(const update::Rule& rule) {
  std::vector<Slot> slots = {like_param("ParamOut", "the new parameter, in the place of Param")};
  for (const update::State& state : rule.states_in_order()) {
    slots.push_back(in_place_of(state_slot(state), state.out_slot()));
  }
  for (const update::Power& power : rule.powers) {
    if (power.by == update::Power::kProgram) continue;
    slots.push_back(in_place_of(one_number(power.slot, {}), power.slot + "Out"));
    slots.back().optional = power.by == update::Power::kOpIfAsked;
  }
  if (has_master(rule)) {
    slots.push_back({.name = "MasterParamOut",
                     .doc = "not written here",
                     .optional = true,
                     .shape_only = true});
  }
  return slots;
}

std::vector<AttrSpec> attrs_of(const update::Rule& rule, bool fused) {
  std::vector<AttrSpec> attrs;
  for (const update::Setting& setting : rule.settings) {
    if (!setting.op) continue;
    const Attr initial = std::visit([](const auto& value) { return Attr(value); }, *setting.op);
    attrs.push_back({setting.name, initial, setting.doc});
    if (fused && setting.name == "regularization_coeff") attrs.push_back(kCoeffs);
  }
  return attrs;
}

void check_settings(const InferContext& c, const update::Rule& rule, size_t params) {
  if (rule.takes_l2) {
    const auto method = c.attr<std::string>("regularization_method");
    require(method.empty() || method == "l2_decay",
            "regularization_method must be \"\" or \"l2_decay\", but is \"{}\"", method);
  }
  for (const update::Setting& setting : rule.settings) {
    if (setting.op && std::holds_alternative<std::vector<float>>(*setting.op)) {
      const size_t found = list_setting(c.op(), c.def(), setting.name).size();
      require(found == params || found == 1,
              "{} must hold a number for each of {} parameters, but holds {}", setting.name, params,
              found);
    }
  }
}

// Entry i of each list belongs to parameter i.
void check_lists(const InferContext& c, size_t params) {
  const auto check = [&](const Slot& slot, size_t found) {
    require(!slot.list || slot.optional || found == params,
            "Param holds {} variables, but {} holds {}", params, slot.name, found);
  };
  for (const Slot& slot : c.def().inputs) check(slot, c.in_count(slot.name));
  for (const Slot& slot : c.def().outputs) check(slot, c.out_count(slot.name));
}

void infer(InferContext& c) {
  const update::Rule& rule = rule_of(c.op());
  const size_t params = c.in_count("Param");
  check_settings(c, rule, params);
  check_lists(c, params);
  for (const update::State& state : rule.states) {
    if (state.where.empty() || !c.attr<bool>(state.where)) continue;
    require(c.has_in(state.slot), "a {} {} needs the input {}", state.where, rule.name, state.slot);
    require(c.has_out(state.out_slot()), "a {} {} needs the output {}", state.where, rule.name,
            state.out_slot());
  }
  for (size_t i = 0; i < params; ++i) {
    c.out("ParamOut", i) = c.in("Param", i);
    for (const update::State& state : rule.states) {
      c.out(state.out_slot(), i) = c.in(c.has_in(state.slot) ? state.slot : "Param", i);
    }
    for (const update::Power& power : rule.powers) {
      if (power.by != update::Power::kProgram) c.out(power.slot + "Out", i) = c.in(power.slot, i);
    }
  }
}

// Updates whose formula is another one in 1.x have a mark for that, which is never in a file: there
// the attribute multi_precision tells. 2.x writes every attribute, and 1.x does not know this one.
void write_release(Block& block, size_t i) {
  Op& op = block.op(i);
  const std::string& mark = rule_of(op).mark_1x;
  const bool old = op.attr_or<bool>(mark, false);
  op.remove_attr(mark);
  if (!old && !op.attrs().contains("multi_precision")) op.set_attr("multi_precision", false);
}
void read_release(Op& op) {
  if (!op.attrs().contains("multi_precision")) op.set_attr(rule_of(op).mark_1x, true);
}

OpDef single(const update::Rule& rule) {
  OpDef def = {.type = rule.name,
               .doc = rule.doc,
               .inputs = inputs_of(rule),
               .outputs = outputs_of(rule),
               .attrs = attrs_of(rule, false),
               .infer = infer,
               .kernels = {{kCpu, f32, update_single}, {kCpu, f64, update_double}}};
  if (!rule.mark_1x.empty()) {
    def.to_paddle = write_release;
    def.from_paddle = read_release;
  }
  if (rule.lists) {
    for (Slot& slot : def.inputs) slot.list = true;
    for (Slot& slot : def.outputs) slot.list = true;
  }
  return def;
}

OpDef fused(const update::Rule& rule) {
  OpDef def = {.type = std::string(kFused) + rule.name,
               .doc = rule.name + " on many parameters at once.",
               .inputs = {{"Param", "parameters"}, like_param("Grad", "their gradients")},
               .outputs = {like_param("ParamOut", "in the place of Param")},
               .attrs = attrs_of(rule, true),
               .infer = infer,
               .kernels = {{kCpu, f32, update_single}, {kCpu, f64, update_double}}};
  for (const update::State& state : rule.states_in_order()) {
    def.inputs.push_back(state_slot(state));
    def.outputs.push_back(in_place_of(state_slot(state), state.out_slot()));
  }
  for (const update::Power& power : rule.powers) {
    def.inputs.push_back(one_number(power.slot, power.doc));
    def.outputs.push_back(in_place_of(one_number(power.slot, {}), power.slot + "Out"));
  }
  for (Slot& slot : def.inputs) slot.list = true;
  for (Slot& slot : def.outputs) slot.list = true;
  def.inputs.push_back(rate_slot(rule));
  return def;
}

const bool kDefined = update::for_each_rule([](const update::Rule& rule) {
  define_op(single(rule));
  if (rule.fuses) define_op(fused(rule));
});

}  // namespace

const update::Rule& rule_of(const Op& op) {
  const std::string_view type = op.type();
  const update::Rule* rule =
      update::find_rule(type.starts_with(kFused) ? type.substr(kFused.size()) : type);
  invariant(rule != nullptr, "the op {} follows from no update rule", type);
  return *rule;
}

std::vector<float> list_setting(const Op& op, const OpDef& def, const std::string& name) {
  const Attr* given = op.find_attr(name);
  if (given != nullptr && std::holds_alternative<float>(*given)) return {std::get<float>(*given)};
  return attr_as<std::vector<float>>(attr_or_default(op, def, name), name);
}

}  // namespace flotilla::ops
