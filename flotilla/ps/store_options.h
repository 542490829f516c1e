// flotilla/ps/store_options.h
//
// How a store is made, and what it says of itself.

#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "flotilla/ps/log_writer.h"
#include "flotilla/ps/sparse_table.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

struct StoreOptions {
  // Empty: tables live in memory alone, and a crash loses all since the last save().
  std::filesystem::path directory = {};
  // Without a log, a crash loses what was pushed since the last snapshot.
  bool log = true;
  LogOptions log_options = {};
  // Older ones go, and with them the log before the oldest that stays.
  int keep_snapshots = 2;

  Share share = {};
  int owners = 1;  // threads
};

struct StoreStats {
  struct Table {
    TableSpec spec = {};
    SparseStats sparse = {};  // of a dense table: its rows are one, pushed and refused count pushes
  };
  std::vector<Table> tables = {};
  uint64_t records = 0;          // applied, ever
  uint64_t snapshot_record = 0;  // up to which the last snapshot goes
  int64_t log_bytes = 0;         // written since the start
  int64_t writes = 0;            // to the log; records may share one
  int64_t repeated = 0;          // pushes that were acknowledged without being applied again
};

// Parts of it for which nobody waits.
struct StoreProgress {
  uint64_t records = 0;  // applied, or will be before anything that comes later
  uint64_t snapshot_record = 0;
  int64_t log_bytes = 0;
};

}  // namespace flotilla::ps
