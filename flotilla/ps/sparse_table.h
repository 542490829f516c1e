// flotilla/ps/sparse_table.h
//
// The part of a sparse table that one server holds, cut by owner. Keys are any int64.
//
// Results do not depend on the number of owners: keys of different owners have nothing in common,
// and what is pushed to one key is added up in the order of the request.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flotilla/ps/shard_pool.h"
#include "flotilla/ps/sparse_part.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

// Which positions of a request each owner serves.
class Split {
 public:
  Keys of(int owner) const;

 private:
  friend class SparseTable;
  std::span<const int64_t> ids_;
  std::vector<uint32_t> where_;   // by owner; empty for a single one
  std::vector<uint32_t> begins_;  // owner i has where_[begins_[i], begins_[i + 1])
};

class SparseTable {
 public:
  // `cold`: a folder for the rows that the table does not keep in memory.
  SparseTable(const TableSpec& table, const Share& share, int owners,
              const std::filesystem::path& cold = {});

  const TableSpec& spec() const { return table_; }
  // Floats of state behind the values of a row.
  int64_t state_width() const { return Rule(table_).state_size(table_.width); }

  // Cuts a request. Refuses a key that belongs to another server. Thread-safe; `ids` must outlive
  // the result.
  Split split(std::span<const int64_t> ids) const;
  int owner_of(int shard) const { return owner_of_[static_cast<size_t>(shard)]; }

  // The part of an owner; only its thread may use it.
  SparsePart& part(int owner) { return *parts_[static_cast<size_t>(owner)]; }

  // Exchanges the part with that of a table that is like this one. REQUIRES: as part()
  void exchange(int owner, SparseTable& other) {
    std::swap(parts_[static_cast<size_t>(owner)], other.parts_[static_cast<size_t>(owner)]);
  }

  // ---- The same for those who have no thread: each call is a job for the owners.
  void pull(ShardPool& pool, std::span<const int64_t> ids, std::span<float> values,
            bool create = true);
  void pull_with_state(ShardPool& pool, std::span<const int64_t> ids, std::span<float> rows);
  void push(ShardPool& pool, std::span<const int64_t> ids, std::span<const float> values,
            const Effect& effect);
  int64_t shrink(ShardPool& pool, const Shrink& rule, uint64_t lsn = kNoRecord);
  SparseStats stats(ShardPool& pool);

 private:
  const TableSpec table_;
  const Share share_;
  std::array<int, kShards> owner_of_ = {};  // -1: another server's
  std::vector<std::unique_ptr<SparsePart>> parts_;
};

}  // namespace flotilla::ps
