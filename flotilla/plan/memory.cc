#include "flotilla/plan/memory.h"

#include <algorithm>
#include <set>

#include "flotilla/base/error.h"

namespace flotilla::plan {
namespace {

constexpr int64_t kAlign = 64;

// More than any machine has, and so little that thousands of them can be added up.
constexpr int64_t kMost = int64_t{1} << 50;

int64_t aligned(int64_t bytes) {
  require(bytes <= kMost, "a workspace of {} bytes has no place in any memory", bytes);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

bool is_effect(const Value& value) { return value.home == Home::kStore || value.pinned; }

// A node is kept if it has an effect or somebody reads what it writes. Every arena value has one
// writer, so one walk from the back is enough, and a node that holds a sub-block is kept whole.
void mark_needed(Draft& draft) {
  std::vector<bool> needed(draft.values.size(), false);
  for (const int32_t value : draft.fetched) needed[static_cast<size_t>(value)] = true;
  for (size_t n = draft.nodes.size(); n-- > 0;) {
    Node& node = draft.nodes[n];
    node.kept = node.side_effect || node.body_end > 0 ||
                std::any_of(node.writes.begin(), node.writes.end(), [&](int32_t value) {
                  const auto v = static_cast<size_t>(value);
                  return needed[v] || is_effect(draft.values[v]);
                });
    if (!node.kept) continue;
    for (const int32_t value : node.reads) needed[static_cast<size_t>(value)] = true;
  }
}

// The end of the outermost loop that holds node n but not the definition of a value: what is read
// in a loop and made outside it must last until the loop ends.
int32_t last_reading(const Draft& draft, const std::vector<int32_t>& loops, int32_t n,
                     int32_t defined_at) {
  int32_t last = n;
  for (const int32_t loop : loops) {
    const int32_t end = draft.nodes[static_cast<size_t>(loop)].body_end - 1;
    const bool inside = loop < n && n <= end;
    const bool made_outside = defined_at <= loop;
    if (inside && made_outside) last = std::max(last, end);
  }
  return last;
}

void find_lifetimes(Draft& draft) {
  std::vector<int32_t> loops;
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    if (draft.nodes[n].loop) loops.push_back(static_cast<int32_t>(n));
  }
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    const Node& node = draft.nodes[i];
    const int32_t n = static_cast<int32_t>(i);
    if (!node.kept) continue;
    for (const int32_t v : node.writes) {
      Value& value = draft.values[static_cast<size_t>(v)];
      if (value.defined_at < 0) value.defined_at = n;
      value.last_used = std::max(value.last_used, n);
    }
    for (const int32_t v : node.reads) {
      Value& value = draft.values[static_cast<size_t>(v)];
      value.last_used = std::max(value.last_used, last_reading(draft, loops, n, value.defined_at));
    }
  }
  for (const int32_t v : draft.fetched) draft.values[static_cast<size_t>(v)].last_used = kNever;
  for (Value& value : draft.values) {
    if (!value.pinned) continue;
    value.defined_at = -1;
    value.last_used = kNever;
  }
}

// Work that runs beside the next nodes may need its values until the run ends. In place they are
// all the same: whoever touches them waits first.
void keep_values_of_async_work(Draft& draft) {
  for (const Node& node : draft.nodes) {
    if (!node.kept || !node.wait) continue;
    for (const std::vector<int32_t>* values : {&node.reads, &node.writes}) {
      for (const int32_t v : *values) draft.values[static_cast<size_t>(v)].last_used = kNever;
    }
  }
}

// Neighbours have no guard between them.
void part_bundles(Draft& draft) {
  for (Bundle& bundle : draft.bundles) {
    if (bundle.exchanged) continue;
    for (const int32_t v : bundle.values) draft.values[static_cast<size_t>(v)].bundle = -1;
    bundle.values.clear();
  }
}

// Values that lie at the same address. A group lives as long as one of its members.
class Groups {
 public:
  explicit Groups(Draft& draft) : draft_(draft) {
    for (size_t v = 0; v < draft.values.size(); ++v) {
      draft.values[v].group = static_cast<int32_t>(v);
      members_.push_back({static_cast<int32_t>(v)});
    }
    for (size_t b = 0; b < draft.bundles.size(); ++b) {
      for (const int32_t v : draft.bundles[b].values) value(v).bundle = static_cast<int32_t>(b);
    }
  }

  void apply(const Share& share, int32_t now) {
    const int32_t from = resolve(share.from, now);
    Value& to = value(share.to);
    if (!may_share(value(from), to, from, now, share)) return;
    std::vector<int32_t>& group = members_[static_cast<size_t>(value(from).group)];
    group.push_back(share.to);
    members_[static_cast<size_t>(to.group)].clear();
    to.group = value(from).group;
    draft_.granted.push_back({from, share.to, share.view});
  }

  const std::vector<std::vector<int32_t>>& members() const { return members_; }
  const std::vector<int32_t>& members(int32_t v) const {
    return members_[static_cast<size_t>(draft_.values[static_cast<size_t>(v)].group)];
  }

 private:
  Value& value(int32_t v) { return draft_.values[static_cast<size_t>(v)]; }

  // Where the kernel reads a reordered copy, the copy is what can be shared.
  int32_t resolve(int32_t from, int32_t now) {
    for (const int32_t v : draft_.nodes[static_cast<size_t>(now)].reads) {
      if (value(v).origin == from) return v;
    }
    return from;
  }

  // A value of a bundle has its place for itself and for what it becomes by an exchange.
  bool bundle_allows(const Value& from, const Share& share) {
    const int32_t bundle = value(from.group).bundle;
    return bundle < 0 || (share.exchanged && draft_.bundles[static_cast<size_t>(bundle)].exchanged);
  }

  bool may_share(const Value& from, const Value& to, int32_t from_id, int32_t now,
                 const Share& share) {
    if (from.device != to.device) return false;
    if (to.home != Home::kArena || to.pinned || to.bundle >= 0 || to.defined_at != now)
      return false;
    if (from.pinned || from.home == Home::kStore || !bundle_allows(from, share)) return false;
    if (from.bytes() != to.bytes() || from.sparse() != to.sparse()) return false;
    if (members_[static_cast<size_t>(to.group)].size() != 1) return false;
    if (!(from.layout == to.layout)) return false;
    if (share.view) return true;
    // In place: the memory is ours, nobody reads any member later, and this node reads the group
    // through this one input alone.
    if (from.home != Home::kArena) return false;
    for (const int32_t v : members_[static_cast<size_t>(from.group)]) {
      if (value(v).home != Home::kArena || value(v).last_used > now) return false;
    }
    const std::vector<int32_t>& reads = draft_.nodes[static_cast<size_t>(now)].reads;
    return std::none_of(reads.begin(), reads.end(),
                        [&](int32_t v) { return v != from_id && value(v).group == from.group; });
  }

  Draft& draft_;
  std::vector<std::vector<int32_t>> members_;
};

// Something that needs a place: a group, a bundle, a workspace.
struct Piece {
  int32_t device = kHost;
  int64_t bytes = 0;
  int32_t begin = 0;
  int32_t end = 0;
  int64_t offset = 0;
  std::vector<int32_t> values = {};  // all at the same offset, or one behind the other
  bool in_sequence = false;
  Workspace* workspace = nullptr;
};

int64_t footprint(const Value& value) {
  require(value.capacity_bytes() <= kMost, "variable \"{}\" of {} bytes has no place in any memory",
          value.name, value.capacity_bytes());
  return aligned(value.capacity_bytes()) + aligned(value.capacity_rows_bytes());
}

void cover(Piece& piece, const Value& value) {
  piece.device = value.device;
  piece.begin = std::min(piece.begin, value.defined_at);
  piece.end = std::max(piece.end, value.last_used);
}

std::vector<Piece> find_pieces(Draft& draft, const Groups& groups, int64_t& no_reuse) {
  std::vector<Piece> pieces;
  for (const Bundle& bundle : draft.bundles) {
    if (bundle.exchanged) continue;
    Piece piece{.begin = kNever, .end = -1, .values = bundle.values, .in_sequence = true};
    for (const int32_t v : bundle.values) {
      piece.bytes += footprint(draft.values[static_cast<size_t>(v)]);
      cover(piece, draft.values[static_cast<size_t>(v)]);
    }
    if (piece.end < 0) continue;
    no_reuse += piece.bytes;
    pieces.push_back(std::move(piece));
  }
  for (const std::vector<int32_t>& members : groups.members()) {
    Piece piece{.begin = kNever, .end = -1, .values = members};
    for (const int32_t v : members) {
      const Value& value = draft.values[static_cast<size_t>(v)];
      if (value.home != Home::kArena || value.bundle >= 0 || value.last_used < 0) {
        piece.values.clear();
        break;
      }
      no_reuse += footprint(value);
      piece.bytes = std::max(piece.bytes, footprint(value));
      cover(piece, value);
    }
    if (!piece.values.empty()) pieces.push_back(std::move(piece));
  }
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    if (!draft.nodes[n].kept) continue;
    for (Workspace* workspace : draft.nodes[n].workspaces) {
      const int32_t now = static_cast<int32_t>(n);
      pieces.push_back({.device = workspace->device,
                        .bytes = aligned(workspace->bytes),
                        .begin = now,
                        .end = now,
                        .workspace = workspace});
      no_reuse += pieces.back().bytes;
    }
  }
  return pieces;
}

// The largest first, each at the lowest offset that is free for its whole life.
int64_t place(std::vector<Piece>& pieces, int32_t device, bool guarded) {
  std::vector<size_t> order;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].device == device) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<const Piece*> placed;  // by offset
  int64_t total = 0;
  for (const size_t i : order) {
    Piece& piece = pieces[i];
    int64_t offset = 0;
    for (const Piece* other : placed) {
      const bool together = guarded || (piece.begin <= other->end && other->begin <= piece.end);
      if (!together) continue;
      if (offset + piece.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    piece.offset = offset;
    total = std::max(total, offset + piece.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &piece,
                         [](const Piece* a, const Piece* b) { return a->offset < b->offset; }),
        &piece);
  }
  return total;
}

// One behind the other, and never used for anything else: peers may look at any time.
int64_t place_exchanged(Draft& draft, const Groups& groups) {
  int64_t offset = 0;
  for (const Bundle& bundle : draft.bundles) {
    if (!bundle.exchanged) continue;
    for (const int32_t v : bundle.values) {
      for (const int32_t member : groups.members(v)) {
        Value& value = draft.values[static_cast<size_t>(member)];
        value.exchanged = true;
        value.offset = offset;
      }
      offset += footprint(draft.values[static_cast<size_t>(v)]);
    }
  }
  return offset;
}

}  // namespace

int64_t Value::bytes_of(const VarMeta& m) const {
  if (m.kind != VarKind::kSelectedRows) return layout.physical_numel(m.shape) * size_of(m.dtype);
  return m.rows * m.shape.numel(1, m.shape.rank()) * size_of(m.dtype);
}

MemoryReport assign_memory(Draft& draft, bool guarded) {
  mark_needed(draft);
  find_lifetimes(draft);
  if (guarded) part_bundles(draft);
  Groups groups(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    if (!draft.nodes[n].kept) continue;
    for (const Share& share : draft.nodes[n].shares) groups.apply(share, static_cast<int32_t>(n));
  }
  keep_values_of_async_work(draft);
  MemoryReport report;
  report.exchanged_bytes = place_exchanged(draft, groups);
  std::vector<Piece> pieces = find_pieces(draft, groups, report.no_reuse_bytes);
  if (guarded) {
    for (Piece& piece : pieces) piece.bytes += kGuardBytes;
  }
  report.arena_bytes = place(pieces, kHost, guarded);
  report.device_bytes = place(pieces, kDevice, guarded);
  for (const Piece& piece : pieces) {
    if (piece.workspace != nullptr) piece.workspace->offset = piece.offset;
    int64_t offset = piece.offset;
    for (const int32_t v : piece.values) {
      Value& value = draft.values[static_cast<size_t>(v)];
      value.offset = offset;
      value.rows_offset = offset + aligned(value.capacity_bytes());
      if (piece.in_sequence) offset += footprint(value);
    }
  }
  return report;
}

}  // namespace flotilla::plan
