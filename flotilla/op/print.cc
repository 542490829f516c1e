#include "flotilla/op/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace flotilla {
namespace {

class Printer {
 public:
  explicit Printer(Docs docs) : docs_(docs) {}

  void head(const OpDef& def) {
    text_ = "op " + def.type;
    if (def.side_effect) text_ += " with a side effect";
    if (!def.infer) text_ += " of declared shapes";
    end_line(def.doc);
  }

  void slot(std::string_view side, const Slot& slot) {
    text_ += fmt::format("  {} {}", side, slot.name);
    if (slot.list) text_ += " list";
    if (slot.optional) text_ += " optional";
    if (slot.no_grad) text_ += " no_grad";
    if (slot.shape_only) text_ += " shape_only";
    if (slot.one) text_ += " one";
    if (!slot.like.empty()) text_ += " like " + slot.like;
    end_line(slot.doc);
  }

  void attr(const AttrSpec& spec) {
    text_ += fmt::format("  attr {} = {} ({})", spec.name, to_string(spec.initial),
                         kind_of(spec.initial));
    end_line(spec.doc);
  }

  void gradient(const OpDef& def) {
    const GradRule& rule = def.grad;
    if (rule.kind == GradRule::kCustom) text_ += "  gradient of other ops\n";
    if (rule.kind != GradRule::kGradOp) return;
    text_ += "  gradient " + def.grad_type();
    for (const Use& use : rule.uses) {
      text_ += fmt::format("{}{}", &use == &rule.uses.front() ? " of " : ", ", use.slot);
    }
    text_ += "\n";
  }

  void kernels(const OpDef& def) {
    std::map<std::string_view, std::string> by_device;
    for (const Kernel& kernel : def.kernels) {
      by_device[name_of(kernel.device)] += fmt::format(" {}", kernel.dtype);
    }
    if (!def.dtype_slot.empty()) text_ += fmt::format("  dtype of {}\n", def.dtype_slot);
    for (const auto& [device, dtypes] : by_device) {
      text_ += fmt::format("  kernels {}:{}\n", device, dtypes);
    }
    const OpDef* forward = forward_of(def.type);
    if (def.lower != nullptr) text_ += "  lowered to other ops\n";
    if (forward != nullptr && forward->grad.of_body)
      text_ += "  lowered to the gradient of its body\n";
  }

  std::string take() { return std::move(text_); }

 private:
  void end_line(const std::string& doc) {
    if (docs_ == Docs::kShown && !doc.empty()) text_ += ": " + doc;
    text_ += "\n";
  }

  const Docs docs_;
  std::string text_;
};

}  // namespace

std::string print(const OpDef& def, Docs docs) {
  Printer printer(docs);
  printer.head(def);
  for (const Slot& slot : def.inputs) printer.slot("in", slot);
  for (const Slot& slot : def.outputs) printer.slot("out", slot);
  for (const AttrSpec& spec : def.attrs) printer.attr(spec);
  printer.gradient(def);
  printer.kernels(def);
  return printer.take();
}

}  // namespace flotilla
