// flotilla/ps/table_set.h
//
// The tables of a store, by their numbers. A table that is there stays where it is: a load
// exchanges what it holds.
//
// Thread safety: all methods may be called by any thread; what a table holds belongs to its owners,
// and the rest of it to the leader (journal.h).

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/ps/change.h"
#include "flotilla/ps/dense_table.h"
#include "flotilla/ps/rule.h"
#include "flotilla/ps/sparse_table.h"
#include "flotilla/ps/store_options.h"

namespace flotilla::ps {

inline constexpr std::string_view kCold = "cold.";

struct StoreTable {
  // `version`: of the contents; two that are there at the same time have rows on disk each.
  StoreTable(const TableSpec& spec, const StoreOptions& options, int version = 0);

  // What a change does, as record `record` of the log. Of the leader: powers go on with it.
  Effect next_effect(const Change& change, uint64_t record);

  const TableSpec spec;
  const Rule rule;
  Powers powers;                        // of the leader
  int version;                          // of the leader, as the next
  std::filesystem::path cold;           // where rows on disk are
  std::unique_ptr<SparseTable> sparse;  // one of the two
  std::unique_ptr<DenseTable> dense;
};

using Tables = std::map<uint32_t, std::unique_ptr<StoreTable>>;

class TableSet {
 public:
  // Refuses a number that no table has.
  StoreTable& at(uint32_t id) const;
  // Refuses one that has no keys besides: "the dense table t has no <what>".
  StoreTable& sparse_at(uint32_t id, const char* what) const;
  // Null: there is none.
  StoreTable* find(uint32_t id) const;

  // In the place of one that has its number.
  StoreTable& add(std::unique_ptr<StoreTable> table);
  void clear();

  // In the order of their numbers.
  std::vector<StoreTable*> all() const;
  std::vector<TableSpec> specs() const;

  // Refuses a push that does not go with the tables.
  void check(const Push& push) const;

 private:
  mutable Mutex mutex_;
  Tables tables_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::ps
