#include "flotilla/op/build.h"

#include <algorithm>
#include <array>

#include "flotilla/ir/structure.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/check.h"

namespace flotilla {
namespace {

// Attributes that any op may carry: marks of the builder, and hints that programs written for other
// devices bring along. They change no result.
constexpr std::array<std::string_view, 14> kCommonAttrs = {
    "op_role",          "op_role_var",   "op_namescope", "op_callstack",
    "op_device",        "use_cudnn",     "use_mkldnn",   "with_quant_attr",
    "mkldnn_data_type", "use_quantizer", "op_uid",       "op_proto_id",
    "is_test",          "name"};

std::vector<std::string> names_of(const std::vector<Slot>& slots) {
  std::vector<std::string> names;
  for (const Slot& slot : slots) names.push_back(slot.name);
  return names;
}

void check_given(const OpDef& def, const std::vector<Slot>& known, const Slots& given,
                 std::string_view side) {
  for (const auto& [name, vars] : given) {
    const auto slot =
        std::find_if(known.begin(), known.end(), [&](const Slot& s) { return s.name == name; });
    require(slot != known.end(), "{} has no {} \"{}\".{}", def.type, side, name,
            did_you_mean(name, names_of(known)));
    require(slot->list || vars.size() <= 1, "{} {} of {} holds one variable, but {} were given",
            side, name, def.type, vars.size());
  }
  for (const Slot& slot : known) {
    const auto found = given.find(slot.name);
    require(slot.optional || (found != given.end() && !found->second.empty()),
            "{} needs the {} \"{}\" ({})", def.type, side, slot.name, slot.doc);
  }
}

void convert_attrs(const OpDef& def, Attrs& attrs) {
  for (auto& [name, value] : attrs) {
    if (const AttrSpec* spec = def.find_attr(name)) {
      if (!std::holds_alternative<VarRef>(value) &&
          !std::holds_alternative<std::vector<VarRef>>(value) &&
          !std::holds_alternative<std::monostate>(spec->initial)) {
        value =
            convert(value, spec->initial, fmt::format("attribute \"{}\" of {}", name, def.type));
      }
      continue;
    }
    if (std::find(kCommonAttrs.begin(), kCommonAttrs.end(), name) != kCommonAttrs.end()) continue;
    std::vector<std::string> known;
    for (const AttrSpec& spec : def.attrs) known.push_back(spec.name);
    refuse("{} has no attribute \"{}\".{}", def.type, name, did_you_mean(name, known));
  }
}

VarMeta meta_of(const Var& var) {
  return {.kind = var.kind, .dtype = var.dtype, .shape = var.shape, .lod_level = var.lod_level};
}

InferContext::Metas metas_of(const Block& block, const Slots& slots, bool must_exist) {
  InferContext::Metas metas;
  for (const auto& [slot, vars] : slots) {
    std::vector<VarMeta>& found = metas[slot];  // empty for an empty slot
    for (const std::string& name : vars) {
      const Var* var = name == kEmptyVar ? nullptr : block.find_var_recursive(name);
      if (var == nullptr && must_exist && name != kEmptyVar) block.var(name);  // refuses
      found.push_back(var == nullptr ? VarMeta{} : meta_of(*var));
    }
  }
  return metas;
}

void describe_outputs(Block& block, const Op& op, const InferContext& context) {
  for (const auto& [slot, vars] : op.outputs()) {
    const std::vector<VarMeta>& metas = context.outputs().at(slot);
    for (size_t i = 0; i < vars.size(); ++i) {
      if (vars[i] == kEmptyVar) continue;
      Var* var = block.find_var_recursive(vars[i]);
      check_extents(metas[i].shape, fmt::format("output \"{}\"", vars[i]));
      if (var == nullptr) var = &block.add_var({.name = vars[i]});
      var->kind = metas[i].kind;
      var->dtype = metas[i].dtype;
      var->shape = metas[i].shape;
      var->lod_level = metas[i].lod_level;
    }
  }
}

void mark(Op& op, const BuildState& build) {
  if (!op.attrs().contains("op_role")) op.set_attr("op_role", build.op_role);
  if (!build.op_role_var.empty()) op.set_attr("op_role_var", build.op_role_var);
  if (build.name_scope != "/") op.set_attr("op_namescope", build.name_scope);
  if (!build.device.empty()) op.set_attr("op_device", build.device);
  if (!build.callstack.empty()) op.set_attr("op_callstack", build.callstack);
}

}  // namespace

void note_op(Error& error, const Op& op) {
  error.note("op", print(op));
  if (const std::string from = user_line(op); !from.empty()) error.note("from", from);
}

void infer_op(Block& block, const Op& op, const OpDef& def) {
  if (def.infer == nullptr) return;
  const InferContext::Metas inputs = metas_of(block, op.inputs(), true);
  InferContext context(op, def, inputs, metas_of(block, op.outputs(), false), false);
  SlotVars looked_at;
  check_inputs(op, def, inputs, looked_at);
  def.infer(context);
  describe_outputs(block, op, context);
}

Op& insert_op(Block& block, size_t position, std::string type, Slots inputs, Slots outputs,
              Attrs attrs) {
  Op op(std::move(type), std::move(inputs), std::move(outputs), std::move(attrs));
  mark(op, block.program().build());
  try {
    const OpDef& def = op_def(op.type());
    check_given(def, def.inputs, op.inputs(), "input");
    check_given(def, def.outputs, op.outputs(), "output");
    Attrs converted = op.attrs();
    convert_attrs(def, converted);
    // Program::clone(for_test) sets it where an op carries it.
    if (const AttrSpec* spec = def.find_attr("is_test")) {
      converted.try_emplace("is_test", spec->initial);
    }
    op = Op(op.type(), op.inputs(), op.outputs(), std::move(converted));
    infer_op(block, op, def);
  } catch (Error& error) {
    note_op(error, op);
    throw;
  }
  return block.insert(position, std::move(op));
}

Op& append_op(Block& block, std::string type, Slots inputs, Slots outputs, Attrs attrs) {
  return insert_op(block, block.size(), std::move(type), std::move(inputs), std::move(outputs),
                   std::move(attrs));
}

RoleGuard::RoleGuard(Program& program, int32_t role, std::vector<std::string> role_var)
    : build_(program.build()), role_(build_.op_role), role_var_(build_.op_role_var) {
  build_.op_role = role;
  build_.op_role_var = std::move(role_var);
}

RoleGuard::~RoleGuard() {
  build_.op_role = role_;
  build_.op_role_var = std::move(role_var_);
}

}  // namespace flotilla
