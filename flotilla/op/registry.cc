#include <algorithm>
#include <map>

#include "flotilla/op/gradient.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

// Filled while static objects are built, read-only afterwards.
struct Registry {
  std::map<std::string, OpDef, std::less<>> ops;
  // Kernels whose op is defined by a file that comes later in the order of initialisation.
  std::map<std::string, std::vector<Kernel>, std::less<>> waiting;
};

Registry& registry() {
  static Registry filled_before_main;
  return filled_before_main;
}

const OpDef& add_to(Registry& r, OpDef def) {
  invariant(!r.ops.contains(def.type), "the op \"{}\" is defined twice", def.type);
  if (const auto waiting = r.waiting.find(def.type); waiting != r.waiting.end()) {
    def.kernels.insert(def.kernels.end(), waiting->second.begin(), waiting->second.end());
    r.waiting.erase(waiting);
  }
  std::string type = def.type;
  return r.ops.emplace(std::move(type), std::move(def)).first->second;
}

template <typename Row>
const Row* find_by_name(const std::vector<Row>& rows, std::string_view name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const Slot* OpDef::find_input(std::string_view slot) const { return find_by_name(inputs, slot); }
const Slot* OpDef::find_output(std::string_view slot) const { return find_by_name(outputs, slot); }
const AttrSpec* OpDef::find_attr(std::string_view name) const { return find_by_name(attrs, name); }

std::string OpDef::grad_type() const {
  if (grad.kind != GradRule::kGradOp) return {};
  return grad.op.type.empty() ? type + "_grad" : grad.op.type;
}

const OpDef& define_op(OpDef def) {
  if (def.grad.of_body && def.grad.uses.empty()) {
    for (const Slot& slot : def.inputs) def.grad.uses.emplace_back(slot.name);
  }
  const OpDef& defined = add_to(registry(), std::move(def));
  const GradRule& rule = defined.grad;
  if (!rule.op.kernels.empty() || rule.op.lower != nullptr || rule.of_body) {
    add_to(registry(), gradient_of(defined));
  }
  return defined;
}

bool add_kernels(std::string_view type, std::vector<Kernel> kernels) {
  Registry& r = registry();
  const auto defined = r.ops.find(type);
  std::vector<Kernel>& target =
      defined == r.ops.end() ? r.waiting[std::string(type)] : defined->second.kernels;
  target.insert(target.end(), kernels.begin(), kernels.end());
  return true;
}

const OpDef* find_op(std::string_view type) {
  const auto found = registry().ops.find(type);
  return found == registry().ops.end() ? nullptr : &found->second;
}

const OpDef* forward_of(std::string_view type) {
  constexpr std::string_view kGradOp = "_grad";
  if (type.ends_with(kGradOp)) {
    if (const OpDef* named = find_op(type.substr(0, type.size() - kGradOp.size()))) return named;
  }
  for (const auto& [name, def] : registry().ops) {
    if (def.grad.op.type == type) return &def;
  }
  return nullptr;
}

const OpDef& op_def(std::string_view type) {
  if (const OpDef* found = find_op(type)) return *found;
  not_found("the op \"{}\" is not defined.{}", type, did_you_mean(type, op_types()));
}

std::vector<std::string> op_types() {
  std::vector<std::string> types;
  for (const auto& [type, def] : registry().ops) types.push_back(type);
  return types;
}

bool has_kernel(const OpDef& def, Device device, DType dtype) {
  return std::any_of(def.kernels.begin(), def.kernels.end(), [&](const Kernel& kernel) {
    return kernel.device == device && kernel.dtype == dtype;
  });
}

const Kernel& find_kernel(const OpDef& def, Device device, DType dtype) {
  std::vector<std::string> there, elsewhere;
  for (const Kernel& kernel : def.kernels) {
    if (kernel.device == device && kernel.dtype == dtype) return kernel;
    (kernel.device == device ? there : elsewhere)
        .push_back(fmt::format("{} {}", name_of(kernel.device), kernel.dtype));
  }
  if (there.empty()) there = std::move(elsewhere);
  not_found("no kernel for {} on {} with dtype {}. Its kernels are: {}", def.type, name_of(device),
            dtype, there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")));
}

Use shape_of(std::string slot) {
  Use use(std::move(slot));
  use.shape_only = true;
  return use;
}

GradRule grad_op(std::vector<Use> uses, GradOp op) {
  return {.kind = GradRule::kGradOp, .uses = std::move(uses), .op = std::move(op)};
}

GradRule grad_of_body(std::vector<Use> uses) {
  return {.kind = GradRule::kGradOp, .uses = std::move(uses), .of_body = true};
}

GradRule custom_grad(void (*emit)(GradContext&)) {
  return {.kind = GradRule::kCustom, .emit = emit};
}

}  // namespace flotilla
