// flotilla/ps/contents.h
//
// What a store holds, in the order of its parts: the owners' threads, the tables that they own, the
// order in which these change, and where the values came from. Snapshots (store_files.h) and
// checkpoints (store_load.h) are read into it and written from it.

#pragma once

#include <atomic>
#include <cstdint>

#include "flotilla/ps/journal.h"
#include "flotilla/ps/shard_pool.h"
#include "flotilla/ps/store_options.h"
#include "flotilla/ps/table_set.h"
#include "flotilla/ps/values.h"

namespace flotilla::ps {

struct Contents {
  explicit Contents(const StoreOptions& options) : options(options), pool(options.owners) {}

  const StoreOptions options;
  ShardPool pool;
  TableSet tables;
  Journal journal;
  Values values = {};                         // of the journal's leader
  std::atomic<uint64_t> snapshot_record = 0;  // up to which the last snapshot goes

  // Of the leader: an action on a table makes values other than those it had.
  void note_change(Action action) {
    if (action == Action::kAssign) return;
    values.used = true;
    values.as_loaded = false;
  }
};

}  // namespace flotilla::ps
