#include "flotilla/op/kernel_dtype.h"

namespace flotilla {
namespace {

using Metas = InferContext::Metas;

// Of the first variable of a slot that is there: of several gradients some may be missing.
const VarMeta* first_of(const Metas& metas, const std::string& slot,
                        std::span<const std::string> names) {
  const auto found = metas.find(slot);
  for (size_t i = 0; found != metas.end() && i < found->second.size(); ++i) {
    if (i >= names.size() || names[i] != kEmptyVar) return &found->second[i];
  }
  return nullptr;
}

}  // namespace

DType kernel_dtype(const Op& op, const OpDef& def, const Metas& inputs, const Metas& outputs) {
  const auto input = [&](const std::string& s) { return first_of(inputs, s, op.input_list(s)); };
  const auto output = [&](const std::string& s) { return first_of(outputs, s, op.output_list(s)); };
  if (!def.dtype_slot.empty()) {
    if (const VarMeta* meta = input(def.dtype_slot)) return meta->dtype;
    if (const VarMeta* meta = output(def.dtype_slot)) return meta->dtype;
  }
  for (const Slot& slot : def.inputs) {
    if (const VarMeta* meta = input(slot.name)) return meta->dtype;
  }
  for (const Slot& slot : def.outputs) {
    if (const VarMeta* meta = output(slot.name)) return meta->dtype;
  }
  return f32;
}

}  // namespace flotilla
