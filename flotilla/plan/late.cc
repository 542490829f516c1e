// Ops whose sizes are known only when they run: what a mask selects, what a sequence expands to,
// and everything computed from it until a size is known again. Their nodes infer, prepare and run
// in one go; what was prepared is kept as long as the shapes stay the same. Memory comes from a
// pool.

#include "flotilla/op/check.h"
#include "flotilla/plan/planner.h"

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

template <typename F>
void for_each_value(const Ports& ports, F f) {
  for (const auto& [slot, values] : ports) {
    for (const int32_t v : values) {
      if (v >= 0) f(v);
    }
  }
}

}  // namespace

bool size_unknown(const VarMeta& meta) {
  return !meta.shape.known() || (meta.kind == VarKind::kSelectedRows && meta.rows < 0);
}

void Planner::forget_rows(const Prepared& op, InferContext::Metas& outputs) const {
  bool unknown = false;
  for_each_value(op.inputs, [&](int32_t v) {
    unknown = unknown || (at(v).sparse() && at(v).home == Home::kLate);
  });
  if (!unknown) return;
  for (auto& [slot, metas] : outputs) {
    for (VarMeta& meta : metas) {
      if (meta.kind == VarKind::kSelectedRows) meta.rows = -1;
    }
  }
}

bool Planner::is_late(const Prepared& op, const InferContext::Metas& outputs) const {
  bool late = false;
  for_each_value(op.inputs, [&](int32_t v) { late = late || at(v).home == Home::kLate; });
  for (const auto& [slot, metas] : outputs) {
    for (const VarMeta& meta : metas) late = late || (size_unknown(meta) && !is_unset(meta));
  }
  return late;
}

void Planner::prepare_late(Prepared op) {
  Node node{.op = op.op, .side_effect = op.def->side_effect};
  // What the kernel will read is not known yet: everything is kept for it.
  for_each_value(op.inputs, [&](int32_t v) {
    if (!at(v).layout.plain()) v = reordered(v, {});
    at(v).used = true;
    node.reads.push_back(v);
    const int32_t source = at(v).meta.lod_source;
    if (source >= 0 && source != v) node.reads.push_back(source);
  });
  for_each_value(op.outputs, [&](int32_t v) {
    require(at(v).layout.plain(), "variable \"{}\" in layout {} cannot take a result of {}",
            at(v).name, at(v).layout, op.op->type());
    at(v).used = at(v).written = true;
    node.writes.push_back(v);
  });
  op.node = draft_.nodes.size();
  op.late = true;
  prepared_.push_back(op);
  LateOp& late = late_ops_.emplace_back();
  late.op = std::move(op);
  node.step = [this, &late] { run_late(late); };
  draft_.nodes.push_back(std::move(node));
}

// Now that they are there, the elements of small integer tensors are known: extents, axes, limits.
void Planner::read_values(const Ports& ports) {
  for_each_value(ports, [&](int32_t v) {
    VarMeta& meta = at(v).meta;
    const bool small = meta.kind == VarKind::kTensor && meta.shape.known() &&
                       at(v).layout.plain() && meta.shape.numel() <= kSmall;
    if (!small || (meta.dtype != i64 && meta.dtype != i32)) return;
    const int64_t n = meta.shape.numel();
    if (meta.dtype == i64) {
      const auto* data = static_cast<const int64_t*>(at(v).cell.data);
      meta.value.emplace(data, data + n);
    } else {
      const auto* data = static_cast<const int32_t*>(at(v).cell.data);
      meta.value.emplace(data, data + n);
    }
  });
}

// And so is the number of sequences, where an op made them.
void Planner::read_sequences(const Ports& ports) {
  for_each_value(ports, [&](int32_t v) {
    VarMeta& meta = at(v).meta;
    const LoD* lod = meta.lod_source < 0 ? nullptr : at(meta.lod_source).cell.lod;
    if (lod != nullptr && !lod->empty()) meta.sequences = std::ssize(lod->back()) - 1;
  });
}

void Planner::run_late(LateOp& late) {
  read_values(late.op.inputs);
  read_sequences(late.op.inputs);
  for_each_value(late.op.inputs, [&](int32_t v) {
    require(at(v).home != Home::kLate || !size_unknown(at(v).meta),
            "variable \"{}\" is read, but the op that writes it gave it no size", at(v).name);
  });
  InferContext::Metas inputs = metas_of(late.op.inputs, false);
  if (!late.step || !same(inputs, late.inputs)) {
    const InferContext::Metas metas = infer(late.op, metas_of(late.op.outputs, false));
    for (const auto& [slot, values] : late.op.outputs) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0) continue;
        VarMeta& meta = at(values[i]).meta;
        if (at(values[i]).home != Home::kLate) {
          const Shape& found = metas.at(slot)[i].shape;
          require(!found.known() || found.numel() == meta.shape.numel(),
                  "variable \"{}\" has room for shape {}, but turned out to have {}",
                  at(values[i]).name, meta.shape, found);
          continue;
        }
        const int32_t lod_source = meta.lod_source;
        meta = metas.at(slot)[i];
        meta.lod_source = lod_source;
      }
    }
    late.workspaces.clear();
    late_ = &late;
    try {
      late.step = run_kernel(late.op);
    } catch (...) {
      late_ = nullptr;
      throw;
    }
    late_ = nullptr;
    late.inputs = std::move(inputs);
  }
  for_each_value(late.op.outputs, [&](int32_t v) {
    if (at(v).home != Home::kLate || size_unknown(at(v).meta)) return;
    if (at(v).sparse()) {
      resize_rows(v, at(v).meta.rows);
    } else {
      resize(v, at(v).meta.shape);
    }
  });
  late.workspace_blocks.clear();
  for (const auto& [bytes, cell] : late.workspaces) {
    cell->data = late.workspace_blocks.emplace_back(pool_.take(bytes)).data();
  }
  late.step();
}

const Cell* Planner::late_cell(int32_t value, const Layout& layout, bool writes) {
  Value& v = at(value);
  if (writes && v.home == Home::kLate) v.layout = layout;
  // The reordered copy that prepare_late made.
  if (!(v.layout == layout) && !writes) {
    const auto copy = copies_.find({value, to_string(layout)});
    if (copy != copies_.end()) return &at(copy->second).cell;
  }
  require(v.layout == layout,
          "variable \"{}\", whose size is known only when the program runs, is needed in layout "
          "{}, but "
          "has {}",
          v.name, layout, v.layout);
  return &v.cell;
}

void Planner::resize_rows(int32_t value, int64_t count) {
  Value& v = at(value);
  v.meta.rows = count;
  v.late_rows.reset();
  v.late_rows = std::make_shared<Pool::Block>(pool_.take(v.rows_bytes()));
  v.rows.data = v.late_rows->data();
  resize(value, v.meta.shape);
}

void Planner::set_lod(int32_t value, LoD lod) {
  Value& v = at(value);
  v.meta.lod_level = static_cast<int32_t>(lod.size());
  v.meta.sequences = std::ssize(lod.back()) - 1;
  v.own_lod = std::move(lod);
  v.cell.lod = &v.own_lod;
}

void* Planner::resize(int32_t value, const Shape& shape) {
  Value& v = at(value);
  v.meta.shape = shape;
  v.late.reset();  // first back, then out again: often the same block
  try {
    v.late = std::make_shared<Pool::Block>(pool_.take(v.bytes()));
  } catch (Error& error) {
    error.note("variable", fmt::format("{} {}{}", v.name, v.meta.dtype, shape));
    throw;
  }
  v.cell.data = v.late->data();
  return v.cell.data;
}

}  // namespace flotilla::plan
