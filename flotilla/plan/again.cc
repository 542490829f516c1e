#include "flotilla/plan/again.h"

#include <algorithm>

#include "flotilla/op/build.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/plan/capacity.h"
#include "flotilla/plan/dynamic.h"

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

void give_capacity(Draft& draft, const std::vector<FeedSpec>& feeds) {
  draft.adaptive = std::any_of(feeds.begin(), feeds.end(),
                               [](const FeedSpec& feed) { return feed.lod_levels > 0; });
  if (!draft.adaptive) return;
  for (Value& value : draft.values) value.capacity = rounded_up(value.meta);
}

void infer_capacity(Draft& draft, const Prepared& op, const InferContext::Metas& declared) {
  for_each_value(op.outputs, [&](int32_t v) { draft.at(v).capacity = draft.at(v).meta; });
  if (!draft.adaptive) return;
  try {
    InferContext context(*op.op, *op.def, metas_of(draft, op.inputs, Extents::kCapacity), declared,
                         true);
    if (op.def->infer != nullptr) op.def->infer(context);
    const InferContext::Metas& metas = context.outputs();
    for (const auto& [slot, values] : op.outputs) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= 0 && metas.at(slot)[i].shape.known()) {
          draft.at(values[i]).capacity = metas.at(slot)[i];
        }
      }
    }
  } catch (const Error&) {
    // A program that fixes its batch (a reshape to [10, -1]) has no other shapes than these.
    draft.adaptive = false;
  }
}

bool AgainHost::adapt(const std::vector<FeedSpec>& feeds) {
  if (!draft_.adaptive) return false;
  changed_.assign(draft_.values.size(), false);
  for (size_t i = 0; i < feeds.size(); ++i) {
    VarMeta& meta = draft_.values[i].meta;
    changed_[i] = !(meta.shape == feeds[i].shape) || meta.sequences != feeds[i].sequences;
    meta.shape = feeds[i].shape;
    meta.sequences = feeds[i].sequences;
  }
  forget_dynamic_sizes(draft_);
  return std::all_of(draft_.prepared.begin(), draft_.prepared.end(),
                     [&](Prepared& op) { return prepare(op); }) &&
         memory_fits();
}

bool AgainHost::memory_fits() const {
  for (const Share& share : draft_.granted) {
    const bool touched = changed(share.from) || changed(share.to);
    if (touched && at(share.from).bytes() != at(share.to).bytes()) return false;
  }
  // A copy was made for the old shape.
  return std::none_of(draft_.values.begin(), draft_.values.end(), [&](const Value& value) {
    return value.origin >= 0 && value.last_used >= 0 && changed(value.origin) &&
           !same(value.meta, at(value.origin).meta);
  });
}

bool AgainHost::any_changed(const Ports& ports) const {
  bool any = false;
  for_each_value(ports, [&](int32_t v) { any = any || changed(v); });
  return any;
}

bool AgainHost::prepare(Prepared& op) {
  if (!any_changed(op.inputs)) return true;
  if (!resize_outputs(op)) return false;
  Node& node = draft_.nodes[op.node];
  if (!node.kept || op.dynamic) return true;
  node_ = &node;
  next_workspace_ = 0;
  try {
    node.step = run_kernel(op);
  } catch (const NeedsNewPlan&) {
    return false;
  } catch (Error& error) {
    note_op(error, *op.op);
    throw;
  }
  return true;
}

bool AgainHost::resize_outputs(Prepared& op) {
  InferContext::Metas metas;
  try {
    metas = infer(draft_, op, metas_of(draft_, op.outputs));
  } catch (const NeedsValue&) {
    return true;  // all of its outputs are dynamic
  }
  for (const auto& [slot, values] : op.outputs) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || at(values[i]).home == Home::kDynamic) continue;
      Value& value = at(values[i]);
      VarMeta meta = metas.at(slot)[i];
      meta.lod_source = value.meta.lod_source;
      if (same(value.meta, meta)) continue;
      if (value.home != Home::kArena || value.pinned) return false;
      const int64_t room = value.capacity_bytes(), rows_room = value.capacity_rows_bytes();
      value.meta = std::move(meta);
      if (value.bytes() > room || value.rows_bytes() > rows_room) return false;
      changed_[static_cast<size_t>(values[i])] = true;
    }
  }
  return true;
}

const Cell* AgainHost::cell(int32_t value, const Layout& layout) {
  if (at(value).device != node_->device || !(at(value).layout == layout)) throw NeedsNewPlan{};
  return &at(value).cell;
}

// A copy on the device of the node takes the extents of what it was copied from; one in another
// layout was prepared for the old ones.
int32_t AgainHost::copy_of(int32_t value, const Layout& layout) {
  const auto copy = std::find_if(node_->reads.begin(), node_->reads.end(), [&](int32_t read) {
    return at(read).origin == value && at(read).device == node_->device &&
           at(read).device != at(value).device && at(read).layout == layout &&
           at(value).layout == layout;
  });
  if (copy == node_->reads.end()) return value;
  Value& found = at(*copy);
  const int64_t room = found.capacity_bytes(), rows_room = found.capacity_rows_bytes();
  found.meta = at(value).meta;
  if (found.bytes() > room || found.rows_bytes() > rows_room) throw NeedsNewPlan{};
  changed_[static_cast<size_t>(*copy)] = true;
  return *copy;
}

const Cell* AgainHost::read(int32_t value, const Layout& layout) {
  return cell(copy_of(value, layout), layout);
}

const Cell* AgainHost::read_rows(int32_t value) { return &at(copy_of(value, {})).rows; }

const Cell* AgainHost::random_stream(int64_t) { throw NeedsNewPlan{}; }

const Cell* AgainHost::workspace(int64_t bytes) {
  const std::vector<Workspace*>& workspaces = node_->workspaces;
  if (next_workspace_ >= workspaces.size() || workspaces[next_workspace_]->bytes < bytes) {
    throw NeedsNewPlan{};
  }
  return &workspaces[next_workspace_++]->cell;
}

}  // namespace flotilla::plan
