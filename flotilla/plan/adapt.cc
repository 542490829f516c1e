// Plans for feeds whose number of rows changes from batch to batch.
//
// A plan is made for exact shapes, but with memory for the largest shapes of its capacity class: a
// second inference, with the leading extent of every feed rounded up, tells how large each value
// may become. When feeds of the same class come with other extents, only the ops that see a changed
// shape are inferred and prepared again, into the same values and places. What cannot be done that
// way (another layout, more workspace, memory that two values may no longer share) needs a new
// plan.

#include <bit>

#include "flotilla/op/build.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/plan/planner.h"

namespace flotilla::plan {
namespace {

// Thrown where an op cannot be prepared again in place.
struct NeedsNewPlan {};

bool same(const VarMeta& a, const VarMeta& b) {
  return a.shape == b.shape && a.rows == b.rows && a.sequences == b.sequences && a.value == b.value;
}

VarMeta rounded_up(VarMeta meta) {
  if (meta.shape.rank() > 0) meta.shape[0] = capacity_of(meta.shape[0]);
  if (meta.sequences >= 0) meta.sequences = capacity_of(meta.sequences);
  return meta;
}

}  // namespace

int64_t capacity_of(int64_t extent) {
  return extent <= 0 ? extent : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
}

void Planner::give_capacity() {
  for (const FeedSpec& feed : request_.feeds) adaptive_ = adaptive_ || feed.lod_levels > 0;
  if (!adaptive_) return;
  for (Value& value : draft_.values) value.capacity = rounded_up(value.meta);
}

void Planner::infer_capacity(const Prepared& op, const InferContext::Metas& declared) {
  for (const auto& [slot, values] : op.outputs) {
    for (const int32_t v : values) {
      if (v >= 0) at(v).capacity = at(v).meta;
    }
  }
  if (!adaptive_) return;
  try {
    InferContext context(*op.op, *op.def, metas_of(op.inputs, true), declared, true);
    if (op.def->infer != nullptr) op.def->infer(context);
    const InferContext::Metas& metas = context.outputs();
    for (const auto& [slot, values] : op.outputs) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= 0 && metas.at(slot)[i].shape.known()) {
          at(values[i]).capacity = metas.at(slot)[i];
        }
      }
    }
  } catch (const Error&) {
    // A program that fixes its batch (a reshape to [10, -1]) has no other shapes than these.
    adaptive_ = false;
  }
}

bool Planner::adapt(const std::vector<FeedSpec>& feeds) {
  if (!adaptive_) return false;
  std::vector<bool> changed(draft_.values.size(), false);
  for (size_t i = 0; i < feeds.size(); ++i) {
    VarMeta& meta = draft_.values[i].meta;
    changed[i] = !(meta.shape == feeds[i].shape) || meta.sequences != feeds[i].sequences;
    meta.shape = feeds[i].shape;
    meta.sequences = feeds[i].sequences;
  }
  forget_late_sizes();
  for (Prepared& op : prepared_) {
    if (!prepare_again(op, changed)) return false;
  }
  for (const Share& share : draft_.granted) {
    const bool touched =
        changed[static_cast<size_t>(share.from)] || changed[static_cast<size_t>(share.to)];
    if (touched && at(share.from).bytes() != at(share.to).bytes()) return false;
  }
  for (size_t v = 0; v < draft_.values.size(); ++v) {
    // A reordered copy was made for the old shape.
    const int32_t origin = draft_.values[v].origin;
    if (origin >= 0 && changed[static_cast<size_t>(origin)]) return false;
  }
  return true;
}

// What the last run found out is as unknown again as it was when the plan was made.
void Planner::forget_late_sizes() {
  for (Value& value : draft_.values) {
    if (value.home != Home::kLate) continue;
    const int32_t lod_source = value.meta.lod_source;
    value.meta = value.capacity;
    value.meta.lod_source = lod_source;
  }
  // Also where the inputs of an op come out as in the last run, its outputs need their sizes again.
  for (LateOp& late : late_ops_) late.step = nullptr;
}

bool Planner::prepare_again(Prepared& op, std::vector<bool>& changed) {
  const auto any_changed = [&](const Ports& ports) {
    for (const auto& [slot, values] : ports) {
      for (const int32_t v : values) {
        if (v >= 0 && changed[static_cast<size_t>(v)]) return true;
      }
    }
    return false;
  };
  if (!any_changed(op.inputs)) return true;
  if (!resize_outputs(op, changed)) return false;
  Node& node = draft_.nodes[op.node];
  if (!node.kept || op.late) return true;
  again_ = true;
  node_ = &node;
  next_workspace_ = 0;
  bool fits = true;
  try {
    node.step = run_kernel(op);
  } catch (const NeedsNewPlan&) {
    fits = false;
  } catch (Error& error) {
    again_ = false;
    note_op(error, *op.op);
    throw;
  }
  again_ = false;
  node_ = nullptr;
  return fits;
}

bool Planner::resize_outputs(Prepared& op, std::vector<bool>& changed) {
  InferContext::Metas metas;
  try {
    metas = infer(op, metas_of(op.outputs, false));
  } catch (const NeedsValue&) {
    return true;  // all of its outputs are late
  }
  for (const auto& [slot, values] : op.outputs) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || at(values[i]).home == Home::kLate) continue;
      Value& value = at(values[i]);
      VarMeta meta = metas.at(slot)[i];
      meta.lod_source = value.meta.lod_source;
      if (same(value.meta, meta)) continue;
      if (value.home != Home::kArena || value.pinned) return false;
      const int64_t room = value.capacity_bytes(), rows_room = value.capacity_rows_bytes();
      value.meta = std::move(meta);
      if (value.bytes() > room || value.rows_bytes() > rows_room) return false;
      changed[static_cast<size_t>(values[i])] = true;
    }
  }
  return true;
}

const Cell* Planner::again(int32_t value, const Layout& layout) {
  if (!(at(value).layout == layout)) throw NeedsNewPlan{};
  return &at(value).cell;
}

const Cell* Planner::workspace_again(int64_t bytes) {
  const std::vector<Workspace*>& workspaces = node_->workspaces;
  if (next_workspace_ >= workspaces.size() || workspaces[next_workspace_]->bytes < bytes) {
    throw NeedsNewPlan{};
  }
  return &workspaces[next_workspace_++]->cell;
}

}  // namespace flotilla::plan
