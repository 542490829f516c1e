// flotilla/plan/node.h
//
// What a draft is made of: values (versions of variables) and nodes (steps with what they touch).

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/device/pool.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::plan {

// Backends of a draft, by their index.
inline constexpr int32_t kHost = 0;
inline constexpr int32_t kDevice = 1;

inline constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

enum class Home {
  kArena,    // planned memory, lives within a run
  kFeed,     // the caller's memory
  kStore,    // a persistable variable's own memory
  kDynamic,  // from a pool, while the plan runs: its size is known only then
};

// One version of a variable: each write makes a new one, save where the variable has a fixed place
// (persistable, fed, or written inside a sub-block).
struct Value {
  std::string name = {};
  VarMeta meta = {};
  Layout layout = {};
  int32_t device = kHost;  // where it lies
  VarMeta capacity = {};   // of a plan that adapts: the largest it may become
  Home home = Home::kArena;
  int32_t index = -1;   // among the feeds or the store's variables
  int32_t origin = -1;  // a copy of this value, elsewhere or in another layout
  bool pinned = false;  // one place for all writes, for the whole run
  bool used = false;    // some node already relies on its layout
  std::shared_ptr<Pool::Block> pool_block = {};  // kDynamic: its memory
  std::shared_ptr<Pool::Block> pool_rows = {};
  bool written = false;  // by a node of this plan
  bool follows = false;  // should lie where a value lies that is exchanged
  LoD own_lod = {};      // what its op made of sequences
  Cell cell = {};
  Cell rows = {};  // kSelectedRows: the row numbers

  // Filled by assign_memory.
  int32_t defined_at = -1;  // time of the node that writes it; -1: before the run
  int32_t last_used = -1;
  int32_t group = -1;
  int32_t bundle = -1;
  bool exchanged = false;  // not in the arena, but in memory that peers can see
  int64_t offset = 0;      // in the arena, or there
  int64_t rows_offset = 0;

  bool sparse() const { return meta.kind == VarKind::kSelectedRows; }
  int64_t bytes() const { return bytes_of(meta); }  // of the elements, padding included
  int64_t rows_bytes() const { return sparse() ? meta.rows * 8 : 0; }
  // What it takes in the arena.
  int64_t capacity_bytes() const { return std::max(bytes(), bytes_of(capacity)); }
  int64_t capacity_rows_bytes() const {
    return sparse() ? std::max(meta.rows, capacity.rows) * 8 : 0;
  }
  int64_t bytes_of(const VarMeta& meta) const;
};

// `to` may lie where `from` lies.
struct Share {
  int32_t from = -1;
  int32_t to = -1;
  bool view = false;       // the same bytes: `from` may still be read afterwards
  bool exchanged = false;  // `to` is `from` after an exchange
};

// Values that lie one behind the other.
struct Bundle {
  std::vector<int32_t> values = {};
  bool exchanged = false;  // in memory that peers can see, which nothing else ever uses
};

struct Workspace {
  int32_t device = kHost;
  int64_t bytes = 0;  // what is reserved
  int64_t offset = 0;
  Cell cell = {};
};

struct Node {
  const Op* op = nullptr;  // null: a reorder, or a copy to another device
  int32_t device = kHost;  // where it runs
  Step step = {};
  Step before = {};  // ends asynchronous work on what this node touches; usually none
  Step wait = {};    // set: the step leaves such work behind, which this ends
  std::vector<int32_t> reads = {};
  std::vector<int32_t> writes = {};
  std::vector<Share> shares = {};
  std::vector<Workspace*> workspaces = {};
  bool crosses = false;  // a copy to another device
  bool up = false;       // from the host
  bool lasts = false;    // which may go on when the step has returned
  bool uses_host() const { return device == kHost || up; }
  bool side_effect = false;
  bool kept = false;
  const Cell* condition = nullptr;  // of a sub-block: one bool
  // A sub-block's nodes follow it in the list, up to this index; 0: no sub-block.
  int32_t body_end = 0;
  bool loop = false;  // the body may run more than once
};

}  // namespace flotilla::plan
