#include "flotilla/op/kernel_dtype.h"

namespace flotilla {
namespace {

const VarMeta* first_of(const InferContext::Metas& metas, const std::string& slot) {
  const auto found = metas.find(slot);
  return found == metas.end() || found->second.empty() ? nullptr : &found->second.front();
}

}  // namespace

DType kernel_dtype(const OpDef& def, const InferContext::Metas& inputs,
                   const InferContext::Metas& outputs) {
  if (!def.dtype_slot.empty()) {
    if (const VarMeta* meta = first_of(inputs, def.dtype_slot)) return meta->dtype;
    if (const VarMeta* meta = first_of(outputs, def.dtype_slot)) return meta->dtype;
  }
  for (const Slot& slot : def.inputs) {
    if (const VarMeta* meta = first_of(inputs, slot.name)) return meta->dtype;
  }
  for (const Slot& slot : def.outputs) {
    if (const VarMeta* meta = first_of(outputs, slot.name)) return meta->dtype;
  }
  return f32;
}

}  // namespace flotilla
