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

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/ps/change.h"
#include "flotilla/ps/dense_table.h"
#include "flotilla/ps/log_writer.h"
#include "flotilla/ps/shard_pool.h"
#include "flotilla/ps/snapshot.h"
#include "flotilla/ps/sparse_table.h"
#include "flotilla/ps/values.h"

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

class Store {
 public:
  explicit Store(StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Whether the directory held tables when the store was made. They may be without values yet.
  bool recovered() const { return recovered_; }

  // In memory alone: empty.
  const std::filesystem::path& directory() const { return options_.directory; }

  // Where the values come from.
  Values values();
  // The tables have their first values, as those of all servers that are given the same `id`. It
  // is in the log and on the disk when this returns, whatever the policy.
  // REQUIRES: id > 0
  void set_values(uint64_t id);

  // A table that is there already must have the same description.
  void create(const TableSpec& table);
  std::vector<TableSpec> tables() const;

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
  // Calls f for all rows of a sparse table, shard by shard; pushes go on meanwhile.
  using SeeRows = std::function<void(std::span<const int64_t> keys, std::span<const float> values)>;
  void for_each_row(uint32_t table, const SeeRows& f);

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
  // Parts of it for which nobody waits.
  uint64_t snapshot_record() const { return snapshot_record_; }
  int64_t log_bytes() const { return log_ ? log_->written() : 0; }
  // How many records are applied, or will be before anything that comes later.
  uint64_t records() const { return record_; }

 private:
  struct Table;
  struct Pending;
  using Tables = std::map<uint32_t, std::unique_ptr<Table>>;

  void check(const Push& push) const;
  void note_change(Action action);  // of the leader
  Table& table_of(uint32_t id) const;
  Table& add_table(std::unique_ptr<Table> table);

  // Takes part in a group: returns when `pending` is in the log and handed to the owners.
  void commit(Pending& pending);
  void wait_for(Pending& pending);
  void run_group(const std::vector<Pending*>& group);
  bool take_ids(Pending& pending, std::map<uint64_t, uint64_t>& next) const;
  // Runs f between two groups; at once in one that runs already.
  void in_order(const std::function<void()>& f);

  void recover();
  void check_mark();
  bool load_snapshot(const std::filesystem::path& directory);
  void replay(const Record& record);
  void load_pieces(const std::filesystem::path& directory, const TableManifest& from, Table& table,
                   LoadMode mode);

  void write_sparse(SnapshotWriter& writer, Table& table, SaveMode mode);
  void write_dense(SnapshotWriter& writer, Table& table);
  // With the tables of `instead` in the place of those of the same numbers.
  void write_snapshot(const std::filesystem::path& directory, bool own, const SaveOptions& what,
                      const Tables& instead);
  // REQUIRES: snapshot_mutex_ is held
  void write_next_snapshot(const Tables& instead);
  void remove_old_snapshots(size_t keep);

  // Of a checkpoint: the folder of a part, a table in it, and what becomes of the copy.
  using SeeSaved = std::function<void(const std::filesystem::path& part, const TableManifest& saved,
                                      LoadMode mode)>;
  void for_each_saved(const std::filesystem::path& directory, uint32_t only,
                      const SeeSaved& see) const;
  Table* find_like(const TableSpec& saved) const;
  std::unique_ptr<Table> make_next(Table& table, LoadMode mode);
  void put_in_place(Tables made);

  const StoreOptions options_;
  Fd lock_;
  Mutex create_mutex_;  // two workers may ask for the same table at the same time
  ShardPool pool_;

  mutable Mutex tables_mutex_;
  Tables tables_ FLT_GUARDED_BY(tables_mutex_);

  // One thread at a time leads: it writes the records of all who wait, and hands them to the
  // owners.
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Pending*> waiting_ FLT_GUARDED_BY(mutex_);
  bool leading_ FLT_GUARDED_BY(mutex_) = false;
  std::thread::id orders_ FLT_GUARDED_BY(mutex_);  // who is in in_order()

  // Of the leader.
  std::unique_ptr<LogWriter> log_;     // null: none
  std::atomic<uint64_t> record_ = 0;   // the last that was handed to the owners; others may read
  std::map<uint64_t, uint64_t> last_;  // worker to sequence
  Values values_;
  int64_t writes_ = 0;
  int64_t repeated_ = 0;

  bool recovered_ = false;
  std::atomic<bool> broken_ = false;  // an owner could not do what the log says

  Mutex snapshot_mutex_;  // one snapshot, save or load at a time
  std::atomic<uint64_t> snapshot_record_ = 0;
};

}  // namespace flotilla::ps
