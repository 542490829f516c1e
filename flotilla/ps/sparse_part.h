// flotilla/ps/sparse_part.h
//
// The shards of a sparse table that one thread owns.
//
// A row lies in an arena: its key, the values that workers see, the state of the rule. All requests
// go over their keys in blocks: first the slots of a block are asked for, then the rows that they
// lead to, then the work is done, so that the misses of many keys overlap.
//
// Thread safety: none, on purpose; see shard_pool.h.

#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/ps/cold_rows.h"
#include "flotilla/ps/key_index.h"
#include "flotilla/ps/merged_keys.h"
#include "flotilla/ps/row_arena.h"
#include "flotilla/ps/rule.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

enum class Action : uint8_t {
  kGradient = 0,  // the rule takes a step
  kDelta = 1,     // added to the values
  kAssign = 2,    // in the place of the values
};

// For what is in no log.
inline constexpr uint64_t kNoRecord = ~uint64_t{0};

// What happens to the rows of a push.
struct Effect {
  Action action = Action::kGradient;
  Round round = {};
  float scale = 1;  // what gradients are multiplied with, once duplicates are added up
  // The record of the log that this is. Shards that were loaded with it leave it out.
  uint64_t lsn = kNoRecord;
};

struct SparseStats {
  int64_t rows = 0;
  int64_t cold = 0;     // of these, on disk
  int64_t waiting = 0;  // keys that are not admitted yet
  int64_t bytes = 0;
  int64_t pulled = 0;   // rows, with repetitions
  int64_t pushed = 0;   // rows, without
  int64_t refused = 0;  // rows of gradients that were not finite
  int64_t evicted = 0;

  SparseStats& operator+=(const SparseStats& other);
};

// Which rows a copy holds.
enum class SaveMode : uint32_t {
  kAll = 0,
  kBase = 1,   // all
  kDelta = 2,  // those that have changed since the last base or delta that counts
};

inline constexpr uint32_t kAllTables = ~uint32_t{0};

// What a checkpoint holds.
struct SaveOptions {
  SaveMode mode = SaveMode::kAll;
  uint32_t table = kAllTables;  // or one

  bool covers(uint32_t id) const { return table == kAllTables || table == id; }
};

// What a copy becomes.
enum class LoadMode {
  kSnapshot,    // the table as it was: what was new in it still is
  kCheckpoint,  // a table in which nothing is new
  kDelta,       // the same, over the rows that are there
};

// Which rows go. Each shrink counts every row as unseen once more; a push sets it back to zero. For
// a time to live, shrink at fixed times.
struct Shrink {
  uint32_t max_unseen = 0;  // rows unseen in more shrinks than that go; 0: none
  float min_score = 0;      // rows with a lower score go, after the decay; 0: none
  float decay = 1;          // what all scores are multiplied with
};

class SparsePart {
 public:
  // Where the table keeps only some rows in memory: `memory` of them, the rest in `cold`.
  explicit SparsePart(const TableSpec& table, int64_t memory = 0,
                      const std::filesystem::path& cold = {});

  // Copies the row of key i to values[position(i) * width]. A key without a row gets one, unless it
  // waits for admission (zeros) or `create` is false (its first value, which is not kept).
  void pull(const Keys& keys, float* values, bool create);
  // The same with the rule's state behind the values; never creates.
  void pull_with_state(const Keys& keys, float* rows);

  // Adds up the rows of equal keys in the order they come (kAssign takes the last), refuses those
  // that are not finite, and does what `effect` says to the rest.
  void push(const Keys& keys, const float* values, const Effect& effect);

  // Returns how many rows went.
  int64_t shrink(const Shrink& rule, uint64_t lsn = kNoRecord);

  SparseStats stats() const;

  // All rows of a shard, without their state.
  void collect(int shard, std::vector<int64_t>& keys, std::vector<float>& values) const;

  // ---- Snapshots: a shard as bytes, little endian
  //   shard   := rows:u64 waiting:u64 row* wait*
  //   row     := key:i64 history:u32 score:f32 value:f32[width] state:f32[...]
  //   wait    := key:i64 count:u32 unseen:u32
  // Returns the number of rows. What a base or a delta holds is no longer new once saved() says
  // that all of it is safe.
  int64_t save(int shard, std::vector<std::byte>& bytes, SaveMode mode = SaveMode::kAll);
  void saved();
  // Into an empty shard, but for deltas. `lsn`: the last record that is part of it.
  void load(int shard, std::span<const std::byte> bytes, uint64_t lsn,
            LoadMode mode = LoadMode::kSnapshot);
  int64_t rows(int shard) const {
    return shards_[static_cast<size_t>(shard)].index.size() + (cold_ ? cold_->size(shard) : 0);
  }

 private:
  struct Waiting {
    uint32_t count = 0;
    uint32_t unseen = 0;
  };
  struct Shard {
    KeyIndex index;
    absl::flat_hash_map<int64_t, Waiting> waiting;
    uint64_t lsn = 0;  // that it was loaded with
  };
  struct Found {
    std::byte* row = nullptr;
    KeyIndex::Slot* slot = nullptr;
  };
  Shard& shard_of(uint64_t hash) { return shards_[static_cast<size_t>(shard_of_hash(hash))]; }
  // Null where the key has no row.
  Found find(int64_t key, uint64_t hash);
  // With any content.
  Found add(int64_t key, uint64_t hash);
  Found create(int64_t key, uint64_t hash);
  // Sends the rows that were not used for longest to disk, until enough is free.
  void make_room();
  void send_to_disk(Shard& shard, int64_t most);
  // A row without its key, as it lies on disk and in snapshots: row_bytes_.
  void put_row(const KeyIndex::Slot& slot, std::span<std::byte> to) const;
  void get_row(std::span<const std::byte> from, const Found& to);
  auto hash_of_row() const;
  // Lets `change` change what the rows of a shard keep besides their values, wherever they lie.
  template <typename Change>
  void update_histories(int shard, Change change);

  template <typename HashOf, typename Work>
  void in_blocks(size_t count, size_t row_bytes, HashOf hash_at, Work work);

  void copy_out(int64_t key, uint64_t hash, std::byte* guess, float* to, bool create);
  void apply(const MergedKeys::Key& merged, const Effect& effect);
  void count_appearance(const MergedKeys::Key& merged);

  const TableSpec table_;
  const Rule rule_;
  const size_t width_;
  const size_t state_;
  const size_t row_bytes_;
  RowArena arena_;
  const int64_t memory_;
  std::unique_ptr<ColdRows> cold_;  // null: all rows are in memory
  int64_t resident_ = 0;
  int64_t tolerated_ = 0;      // rows in memory before a disk that failed is tried again
  size_t hand_ = 0;            // the shard that gives the next rows to disk
  std::vector<Shard> shards_;  // all of the table's; those of other owners stay empty
  std::vector<float> scores_;  // by row number; only where the table has them
  SparseStats stats_;

  // Workspace of a push.
  MergedKeys merged_;
  std::vector<float> grad_;
  std::vector<std::byte> cold_row_;
};

}  // namespace flotilla::ps
