#include "flotilla/ir/text.h"

#include <algorithm>
#include <array>

#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

constexpr std::array<std::string_view, 4> kBookkeeping = {"op_callstack", "op_device",
                                                          "op_namescope", "op_role_var"};

bool is_shown(std::string_view name, const Attr& value, Detail detail) {
  if (detail == Detail::kFull) return true;
  if (name == "op_role") return value != Attr(int32_t{kForwardRole});
  return std::find(kBookkeeping.begin(), kBookkeeping.end(), name) == kBookkeeping.end();
}

std::string vars_text(const std::vector<std::string>& vars) {
  if (vars.size() == 1) return bare_or_quoted(vars.front());
  std::string out = "[";
  for (const std::string& var : vars) {
    if (out.size() > 1) out += ", ";
    out += bare_or_quoted(var);
  }
  return out += ']';
}

std::string slots_text(const Slots& slots, Detail detail) {
  std::string out;
  for (const auto& [slot, vars] : slots) {
    if (vars.empty() && detail == Detail::kBrief) continue;
    if (!out.empty()) out += ", ";
    out += bare_or_quoted(slot) + "=" + vars_text(vars);
  }
  return out;
}

std::string outputs_text(const Slots& outputs, Detail detail) {
  if (outputs.size() == 1 && outputs.begin()->first == "Out") {
    return " -> " + vars_text(outputs.begin()->second);
  }
  const std::string out = slots_text(outputs, detail);
  return out.empty() ? out : " -> " + out;
}

std::string attrs_text(const Attrs& attrs, Detail detail) {
  std::string out;
  for (const auto& [name, value] : attrs) {
    if (!is_shown(name, value, detail)) continue;
    out += out.empty() ? " {" : ", ";
    out += bare_or_quoted(name) + "=" + to_string(value);
  }
  return out.empty() ? out : out += '}';
}

std::string tensor_text(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", dtype, shape);
}

std::string regularizer_text(const Regularizer& regularizer) {
  switch (regularizer.kind) {
    case Regularizer::kNone:
      return "regularizer=none";
    case Regularizer::kL1:
      return "l1=" + to_string(regularizer.coeff);
    case Regularizer::kL2:
      return "l2=" + to_string(regularizer.coeff);
  }
  return "";
}

std::string parameter_text(const ParameterInfo& info) {
  std::vector<std::string> parts;
  if (!info.trainable) parts.push_back("trainable=false");
  if (info.learning_rate != 1) parts.push_back("lr=" + to_string(info.learning_rate));
  if (info.regularizer) parts.push_back(regularizer_text(*info.regularizer));
  if (!info.need_clip) parts.push_back("need_clip=false");
  if (!info.do_model_average) parts.push_back("do_model_average=false");
  return parts.empty() ? "parameter" : fmt::format("parameter({})", fmt::join(parts, ", "));
}

std::string reader_text(const std::vector<ReaderSlot>& slots) {
  std::vector<std::string> parts;
  for (const ReaderSlot& slot : slots) {
    parts.push_back(tensor_text(slot.dtype, slot.shape));
    if (slot.lod_level != 0) parts.back() += fmt::format(" lod={}", slot.lod_level);
  }
  return fmt::format("slots({})", fmt::join(parts, ", "));
}

std::string op_versions_text(const WireVersions& versions) {
  std::string out;
  for (const auto& [op, version] : versions.ops) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", bare_or_quoted(op), version);
  }
  return out;
}

std::string header_text(const Program& program, Detail detail) {
  std::string out;
  if (program.random_seed() != 0) out += fmt::format("random_seed {}\n", program.random_seed());
  const WireVersions& versions = program.wire_versions();
  if (versions.program != WireVersions().program) {
    out += fmt::format("paddle_version {}\n", versions.program);
  }
  if (!versions.ops.empty() && detail == Detail::kFull)
    out += fmt::format("op_versions {{{}}}\n", op_versions_text(versions));
  return out;
}

void append_body(const Block& block, std::string_view indent, Detail detail, std::string& out) {
  for (const auto& var : block.vars()) {
    out += indent;
    out += print(*var);
    out += '\n';
  }
  for (const auto& op : block.ops()) {
    out += indent;
    out += print(*op, detail);
    out += '\n';
  }
}

}  // namespace

std::string print(const Op& op, Detail detail) {
  return fmt::format("{}({}){}{}", bare_or_quoted(op.type()), slots_text(op.inputs(), detail),
                     outputs_text(op.outputs(), detail), attrs_text(op.attrs(), detail));
}

std::string print(const Var& var) {
  std::string out = "var " + bare_or_quoted(var.name);
  const bool is_tensor = var.kind == VarKind::kTensor;
  if (!is_tensor) out += fmt::format(" {}", name_of(var.kind));
  if (is_tensor || var.dtype != f32 || var.shape != Shape()) {
    out += " " + tensor_text(var.dtype, var.shape);
  }
  if (!var.reader.empty()) out += " " + reader_text(var.reader);
  if (var.lod_level != 0) out += fmt::format(" lod={}", var.lod_level);
  if (var.persistable) out += " persistable";
  if (var.stop_gradient) out += " stop_gradient";
  if (var.is_data) out += " data";
  if (var.need_check_feed) out += " check_feed";
  if (var.parameter) out += " " + parameter_text(*var.parameter);
  return out;
}

std::string print(const Program& program, Detail detail) {
  std::string out = header_text(program, detail);
  append_body(program.global_block(), "", detail, out);
  for (int32_t i = 1; i < program.num_blocks(); ++i) {
    const Block& block = program.block(i);
    out += fmt::format("block {} in {}", i, block.parent());
    if (block.forward_block() >= 0) out += fmt::format(" forward {}", block.forward_block());
    out += " {\n";
    append_body(block, "  ", detail, out);
    out += "}\n";
  }
  return out;
}

}  // namespace flotilla
