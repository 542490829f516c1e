#include "flotilla/plan/draft.h"

#include "flotilla/op/check.h"

namespace flotilla::plan {
namespace {

// What a program declares of the extents of an output is a wish: `infer` decides.
InferContext::Metas without_extents(const OpDef& def, InferContext::Metas declared) {
  if (def.infer == nullptr) return declared;
  for (auto& [slot, metas] : declared) {
    if (const Slot* known = def.find_output(slot); known != nullptr && known->shape_only) continue;
    for (VarMeta& meta : metas) meta = unset(std::move(meta));
  }
  return declared;
}

}  // namespace

int32_t Draft::add(Value value) {
  if (value.capacity.shape.rank() != value.meta.shape.rank()) value.capacity = value.meta;
  values.push_back(std::move(value));
  return static_cast<int32_t>(values.size()) - 1;
}

bool size_unknown(const VarMeta& meta) {
  return !meta.shape.known() || (meta.kind == VarKind::kSelectedRows && meta.rows < 0);
}

InferContext::Metas metas_of(const Draft& draft, const Ports& ports, Extents extents) {
  InferContext::Metas metas;
  for (const auto& [slot, values] : ports) {
    for (const int32_t v : values) {
      metas[slot].push_back(v < 0                           ? VarMeta{}
                            : extents == Extents::kCapacity ? draft.at(v).capacity
                                                            : draft.at(v).meta);
    }
  }
  return metas;
}

InferContext::Metas infer(const Draft& draft, Prepared& op, const InferContext::Metas& declared,
                          bool running) {
  const InferContext::Metas inputs = metas_of(draft, op.inputs);
  InferContext context(*op.op, *op.def, inputs, without_extents(*op.def, declared), running);
  op.looked_at = {};
  check_inputs(*op.op, *op.def, inputs, op.looked_at);
  if (op.def->infer != nullptr) op.def->infer(context);
  op.looked_at.insert(context.looked_at());
  check_outputs(*op.op, *op.def, inputs, context.outputs());
  check_gradient(*op.op, inputs, context.outputs(), op.looked_at);
  return context.outputs();
}

}  // namespace flotilla::plan
