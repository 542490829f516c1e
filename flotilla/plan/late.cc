#include "flotilla/plan/late.h"

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

bool is_late(const Draft& draft, const Prepared& op, const InferContext::Metas& outputs) {
  bool late = false;
  for_each_value(op.inputs, [&](int32_t v) { late = late || draft.at(v).home == Home::kLate; });
  for (const auto& [slot, metas] : outputs) {
    for (const VarMeta& meta : metas) late = late || (size_unknown(meta) && !is_unset(meta));
  }
  return late;
}

void forget_rows(const Draft& draft, const Prepared& op, InferContext::Metas& outputs) {
  bool unknown = false;
  for_each_value(op.inputs, [&](int32_t v) {
    unknown = unknown || (draft.at(v).sparse() && draft.at(v).home == Home::kLate);
  });
  if (!unknown) return;
  for (auto& [slot, metas] : outputs) {
    for (VarMeta& meta : metas) {
      if (meta.kind == VarKind::kSelectedRows) meta.rows = -1;
    }
  }
}

void forget_late_sizes(Draft& draft) {
  for (Value& value : draft.values) {
    if (value.home != Home::kLate) continue;
    const int32_t lod_source = value.meta.lod_source;
    value.meta = value.capacity;
    value.meta.lod_source = lod_source;
  }
  // Also where the inputs of an op come out as in the last run, its outputs need their sizes again.
  for (LateOp& late : draft.late_ops) late.step = nullptr;
}

void LateHost::add(Prepared op) {
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
  op.late = true;
  draft_.prepared.push_back(op);
  LateOp& late = draft_.late_ops.emplace_back();
  late.op = std::move(op);
  node.step = [this, &late] { run(late); };
  draft_.nodes.push_back(std::move(node));
}

// Now that they are there, the elements of small integer tensors are known: extents, axes, limits.
void LateHost::read_values(const Ports& ports) {
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
void LateHost::read_sequences(const Ports& ports) {
  for_each_value(ports, [&](int32_t v) {
    VarMeta& meta = at(v).meta;
    const LoD* lod = meta.lod_source < 0 ? nullptr : at(meta.lod_source).cell.lod;
    if (lod != nullptr && !lod->empty()) meta.sequences = sequences_of(*lod);
  });
}

void LateHost::run(LateOp& late) {
  read_values(late.op.inputs);
  read_sequences(late.op.inputs);
  for_each_value(late.op.inputs, [&](int32_t v) {
    require(at(v).home != Home::kLate || !size_unknown(at(v).meta),
            "variable \"{}\" is read, but the op that writes it gave it no size", at(v).name);
  });
  InferContext::Metas inputs = metas_of(draft_, late.op.inputs);
  std::vector<Layout> layouts = layouts_of(draft_, late.op.inputs);
  if (!late.step || !same(inputs, late.inputs) || layouts != late.layouts) {
    size_outputs(late);
    prepare(late);
    late.inputs = std::move(inputs);
    late.layouts = std::move(layouts);
  }
  take_memory(late);
  const auto move_elements = [&](bool writes) {
    for (const LateOp::Move& move : late.moves) {
      if (move.writes != writes) continue;
      void* const own = at(move.value).cell.data;
      void* const beside = move.memory->data;
      move.reorder.run(writes ? beside : own, writes ? own : beside,
                       move.scratch == nullptr ? nullptr : move.scratch->data);
    }
  };
  move_elements(false);
  late.step();
  move_elements(true);
}

void LateHost::size_outputs(LateOp& late) {
  const InferContext::Metas metas = infer(draft_, late.op, metas_of(draft_, late.op.outputs));
  for (const auto& [slot, values] : late.op.outputs) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) continue;
      Value& value = at(values[i]);
      if (value.home != Home::kLate) {
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

void LateHost::prepare(LateOp& late) {
  late.moves.clear();
  late.workspaces.clear();
  late.step = nullptr;
  late_ = &late;
  late.step = run_kernel(late.op);
}

void LateHost::take_memory(LateOp& late) {
  for_each_value(late.op.outputs, [&](int32_t v) {
    if (at(v).home != Home::kLate || size_unknown(at(v).meta)) return;
    if (at(v).sparse()) {
      resize_rows(v, at(v).meta.rows);
    } else {
      resize(v, at(v).meta.shape);
    }
  });
  late.blocks.clear();
  for (Workspace& workspace : late.workspaces) {
    workspace.cell.data = late.blocks.emplace_back(draft_.pool.take(workspace.bytes)).data();
  }
}

const Cell* LateHost::read(int32_t value, const Layout& layout) {
  return at(value).layout == layout ? &at(value).cell : beside(value, layout, false);
}

const Cell* LateHost::write(int32_t value, const Layout& layout) {
  Value& v = at(value);
  if (v.home == Home::kLate) v.layout = layout;
  return v.layout == layout ? &v.cell : beside(value, layout, true);
}

const Cell* LateHost::workspace(int64_t bytes) {
  return &late_->workspaces.emplace_back(Workspace{.bytes = bytes}).cell;
}

const Cell* LateHost::beside(int32_t value, const Layout& layout, bool writes) {
  const Value& v = at(value);
  const Layout& from = writes ? layout : v.layout;
  const Layout& to = writes ? v.layout : layout;
  LateOp::Move move{.value = value,
                    .writes = writes,
                    .reorder = draft_.host.reorder(v.meta.shape, v.meta.dtype, from, to)};
  move.memory = workspace(layout.physical_numel(v.meta.shape) * size_of(v.meta.dtype));
  if (move.reorder.scratch_bytes > 0) move.scratch = workspace(move.reorder.scratch_bytes);
  return late_->moves.emplace_back(std::move(move)).memory;
}

}  // namespace flotilla::plan
