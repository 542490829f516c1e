#include "flotilla/plan/dynamic.h"

#include <array>

#include "flotilla/op/check.h"

namespace flotilla::plan {
namespace {

constexpr int64_t kSmall = 64;

bool same(const InferContext::Metas& a, const InferContext::Metas& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return std::equal(x.second.begin(), x.second.end(), y.second.begin(), y.second.end(),
                      [](const VarMeta& m, const VarMeta& n) {
                        return m.shape == n.shape && m.sequences == n.sequences &&
                               m.rows == n.rows && m.value == n.value;
                      });
  });
}

std::vector<Layout> layouts_of(const Draft& draft, const Ports& ports) {
  std::vector<Layout> layouts;
  for_each_value(ports, [&](int32_t v) { layouts.push_back(draft.at(v).layout); });
  return layouts;
}

// The elements of `value`, as many as one array of the stack holds.
template <typename T>
std::vector<int64_t> small_integers(Draft& draft, const Value& value) {
  std::array<T, kSmall> elements;
  draft.host.read(elements.data(), value.cell.data, value.bytes());
  return {elements.begin(), elements.begin() + value.meta.shape.numel()};
}

}  // namespace

bool is_dynamic(const Draft& draft, const Prepared& op, const InferContext::Metas& outputs) {
  bool dynamic = false;
  for_each_value(op.inputs,
                 [&](int32_t v) { dynamic = dynamic || draft.at(v).home == Home::kDynamic; });
  for (const auto& [slot, metas] : outputs) {
    for (const VarMeta& meta : metas) dynamic = dynamic || (size_unknown(meta) && !is_unset(meta));
  }
  return dynamic;
}

void forget_rows(const Draft& draft, const Prepared& op, InferContext::Metas& outputs) {
  bool unknown = false;
  for_each_value(op.inputs, [&](int32_t v) {
    unknown = unknown || (draft.at(v).sparse() && draft.at(v).home == Home::kDynamic);
  });
  if (!unknown) return;
  for (auto& [slot, metas] : outputs) {
    for (VarMeta& meta : metas) {
      if (meta.kind == VarKind::kSelectedRows) meta.rows = -1;
    }
  }
}

void forget_dynamic_sizes(Draft& draft) {
  for (Value& value : draft.values) {
    if (value.home != Home::kDynamic) continue;
    const int32_t lod_source = value.meta.lod_source;
    value.meta = value.capacity;
    value.meta.lod_source = lod_source;
  }
  // Also where the inputs of an op come out as in the last run, its outputs need their sizes again.
  for (DynamicOp& dynamic : draft.dynamic_ops) dynamic.step = nullptr;
}

void DynamicHost::add(Prepared op) {
  Node node{.op = op.op, .side_effect = op.def->side_effect};
  // What the kernel will read is not known yet: everything is kept for it.
  for_each_value(op.inputs, [&](int32_t v) {
    at(v).used = true;
    node.reads.push_back(v);
    const int32_t source = at(v).meta.lod_source;
    if (source >= 0 && source != v) node.reads.push_back(source);
  });
  for_each_value(op.outputs, [&](int32_t v) {
    at(v).used = at(v).written = true;
    node.writes.push_back(v);
  });
  op.node = draft_.nodes.size();
  op.dynamic = true;
  draft_.prepared.push_back(op);
  DynamicOp& dynamic = draft_.dynamic_ops.emplace_back();
  dynamic.op = std::move(op);
  node.step = [this, &dynamic] { run(dynamic); };
  draft_.nodes.push_back(std::move(node));
}

// Now that they are there, the elements of small integer tensors are known: extents, axes, limits.
void DynamicHost::read_values(const Ports& ports) {
  for_each_value(ports, [&](int32_t v) {
    VarMeta& meta = at(v).meta;
    const bool small = meta.kind == VarKind::kTensor && meta.shape.known() &&
                       at(v).layout.plain() && meta.shape.numel() <= kSmall;
    if (!small) return;
    if (meta.dtype == i64) meta.value = small_integers<int64_t>(draft_, at(v));
    if (meta.dtype == i32) meta.value = small_integers<int32_t>(draft_, at(v));
  });
}

// And so is the number of sequences, where an op made them.
void DynamicHost::read_sequences(const Ports& ports) {
  for_each_value(ports, [&](int32_t v) {
    VarMeta& meta = at(v).meta;
    const LoD* lod = meta.lod_source < 0 ? nullptr : at(meta.lod_source).cell.lod;
    if (lod != nullptr && !lod->empty()) meta.sequences = sequences_of(*lod);
  });
}

void DynamicHost::run(DynamicOp& dynamic) {
  read_values(dynamic.op.inputs);
  read_sequences(dynamic.op.inputs);
  for_each_value(dynamic.op.inputs, [&](int32_t v) {
    require(at(v).home != Home::kDynamic || !size_unknown(at(v).meta),
            "variable \"{}\" is read, but the op that writes it gave it no size", at(v).name);
  });
  InferContext::Metas inputs = metas_of(draft_, dynamic.op.inputs);
  std::vector<Layout> layouts = layouts_of(draft_, dynamic.op.inputs);
  if (!dynamic.step || !same(inputs, dynamic.inputs) || layouts != dynamic.layouts) {
    size_outputs(dynamic);
    prepare(dynamic);
    dynamic.inputs = std::move(inputs);
    dynamic.layouts = std::move(layouts);
  }
  take_memory(dynamic);
  const auto move_elements = [&](bool writes) {
    for (const DynamicOp::Move& move : dynamic.moves) {
      if (move.writes != writes) continue;
      void* const own = at(move.value).cell.data;
      void* const beside = move.memory->data;
      move.reorder.run(writes ? beside : own, writes ? own : beside,
                       move.scratch == nullptr ? nullptr : move.scratch->data);
    }
  };
  move_elements(false);
  dynamic.step();
  move_elements(true);
}

void DynamicHost::size_outputs(DynamicOp& dynamic) {
  const InferContext::Metas metas = infer(draft_, dynamic.op, metas_of(draft_, dynamic.op.outputs));
  for (const auto& [slot, values] : dynamic.op.outputs) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) continue;
      Value& value = at(values[i]);
      if (value.home != Home::kDynamic) {
        const Shape& found = metas.at(slot)[i].shape;
        require(!found.known() || found.numel() == value.meta.shape.numel(),
                "variable \"{}\" has room for shape {}, but turned out to have {}", value.name,
                value.meta.shape, found);
        continue;
      }
      const int32_t lod_source = value.meta.lod_source;
      value.meta = metas.at(slot)[i];
      value.meta.lod_source = lod_source;
      value.layout = {};  // until the kernel chooses
    }
  }
}

void DynamicHost::prepare(DynamicOp& dynamic) {
  dynamic.moves.clear();
  dynamic.workspaces.clear();
  dynamic.step = nullptr;
  op_ = &dynamic;
  dynamic.step = run_kernel(dynamic.op);
}

void DynamicHost::take_memory(DynamicOp& dynamic) {
  for_each_value(dynamic.op.outputs, [&](int32_t v) {
    if (at(v).home != Home::kDynamic || size_unknown(at(v).meta)) return;
    if (at(v).sparse()) {
      resize_rows(v, at(v).meta.rows);
    } else {
      resize(v, at(v).meta.shape);
    }
  });
  dynamic.blocks.clear();
  for (Workspace& workspace : dynamic.workspaces) {
    workspace.cell.data = dynamic.blocks.emplace_back(draft_.pool.take(workspace.bytes)).data();
  }
}

const Cell* DynamicHost::read(int32_t value, const Layout& layout) {
  return at(value).layout == layout ? &at(value).cell : beside(value, layout, false);
}

const Cell* DynamicHost::write(int32_t value, const Layout& layout) {
  Value& v = at(value);
  if (v.home == Home::kDynamic) v.layout = layout;
  return v.layout == layout ? &v.cell : beside(value, layout, true);
}

const Cell* DynamicHost::workspace(int64_t bytes) {
  return &op_->workspaces.emplace_back(Workspace{.bytes = bytes}).cell;
}

const Cell* DynamicHost::beside(int32_t value, const Layout& layout, bool writes) {
  const Value& v = at(value);
  const Layout& from = writes ? layout : v.layout;
  const Layout& to = writes ? v.layout : layout;
  DynamicOp::Move move{.value = value,
                       .writes = writes,
                       .reorder = draft_.host.reorder(v.meta.shape, v.meta.dtype, from, to)};
  move.memory = workspace(layout.physical_numel(v.meta.shape) * size_of(v.meta.dtype));
  if (move.reorder.scratch_bytes > 0) move.scratch = workspace(move.reorder.scratch_bytes);
  return op_->moves.emplace_back(std::move(move)).memory;
}

}  // namespace flotilla::plan
