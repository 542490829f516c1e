// flotilla/ps/store.h
//
// All that a server holds: tables, the log of what is done to them, and snapshots.
//
//   push ──► checked ──► written to the log ──► applied by the owners ──► acknowledged
//              │           (many in one write)       (in the log's order)
//              └ one that was applied before is acknowledged at once
//
// The directory:
//
//   lock             held by the process that uses it
//   ready            the tables have values: values.h
//   log.<first>      log_file.h
//   snapshot.<n>/    snapshot.h; the highest n that is whole counts
//   cold.<table>.<n>/   rows that are not in memory: cold_rows.h; <n> counts loads
//
// A store that is made for a directory continues where the last one was, however that ended: it
// loads the newest good snapshot and does again what the log has after it.
//
// Thread safety: all methods may be called by any thread.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/ps/contents.h"
#include "flotilla/ps/store_options.h"

namespace flotilla::ps {

class Store {
 public:
  explicit Store(const StoreOptions& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Whether the directory held tables when the store was made. They may be without values yet.
  bool recovered() const { return recovered_; }

  // In memory alone: empty.
  const std::filesystem::path& directory() const { return contents_.options.directory; }

  // Where the values come from.
  Values values();
  // The tables have their first values, as those of all servers that are given the same `id`. It
  // is in the log and on the disk when this returns, whatever the policy.
  // REQUIRES: id > 0
  void set_values(uint64_t id);

  // A table that is there already must have the same description.
  void create(const TableSpec& table);
  std::vector<TableSpec> tables() const { return contents_.tables.specs(); }

  enum class Outcome { kApplied, kRepeated };
  // When it returns the push is in the log and applied. Throws kInvalidArgument for a push that
  // makes no sense, or that leaves out pushes of its worker; kUnavailable where the log cannot be
  // written: then nothing has changed, and the same push may be tried again. One without ids is
  // always applied.
  Outcome push(const Push& push);
  // The sequence of the worker's last push; 0: none.
  uint64_t last_push(uint64_t worker);

  void pull(uint32_t table, std::span<const int64_t> keys, std::span<float> values,
            bool create = true);
  // Values and state.
  void pull_rows(uint32_t table, std::span<const int64_t> keys, std::span<float> rows);
  // The slice of a dense table.
  void pull_dense(uint32_t table, std::span<float> values);
  Slice slice(uint32_t table) const;

  // Floats of a sparse table's rows.
  size_t width(uint32_t table) const;
  // Appends the rows of a shard of a sparse table; none where another server holds it.
  void collect(uint32_t table, int shard, std::vector<int64_t>& keys, std::vector<float>& values);

  // Returns how many rows went.
  int64_t shrink(uint32_t table, const Shrink& rule);

  // Pushes and pulls go on meanwhile.
  void snapshot();

  // A checkpoint is a directory with one part for each server, server-<i>-of-<n>. save() writes the
  // part of this one. A part appears whole or not at all; for the same of all parts, save into a
  // new directory and put it in place (replace_directory) when all servers are done.
  //
  // load() takes what belongs to this server from all parts, whatever their number: it takes the
  // place of all that the tables of the same names hold. Tables that are not there are created;
  // those that are must have rows of the same form. A delta goes over the rows that are there: load
  // the base first, then the deltas in their order. Pushes wait meanwhile. Where it fails or the
  // process dies, everything is as it was before: the new tables are in a snapshot before anybody
  // sees them. check_checkpoint() refuses what load() would refuse, and changes nothing.
  void save(const std::filesystem::path& directory, const SaveOptions& what = {});
  void load(const std::filesystem::path& directory, uint32_t only = kAllTables);
  void check_checkpoint(const std::filesystem::path& directory, uint32_t only = kAllTables) const;
  // The checkpoint that was saved last, a base or a delta, is safe: the next delta goes on from it.
  // Where a save fails, the next delta holds what it would have held, and more.
  void saved(const SaveOptions& what);

  // Waits for what is under way, as all that asks the owners does.
  StoreStats stats();
  StoreProgress progress() const;

 private:
  // In the order in which they are taken.
  Mutex create_mutex_;    // two workers may ask for the same table at the same time
  Mutex snapshot_mutex_;  // one snapshot, save or load at a time

  Fd lock_;
  Contents contents_;
  bool recovered_ = false;
};

}  // namespace flotilla::ps
