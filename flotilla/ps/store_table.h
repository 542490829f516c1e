// flotilla/ps/store_table.h
//
// What store*.cc share: a table of a store, and a record on its way into the log.

#pragma once

#include <optional>

#include "flotilla/ps/store.h"

namespace flotilla::ps {

inline constexpr std::string_view kCold = "cold.";

struct Store::Table {
  // `version`: of the contents; two that are there at the same time have rows on disk each.
  Table(const TableSpec& spec, const StoreOptions& options, int version = 0)
      : spec(spec), rule(spec), powers(rule.first_powers()), version(version) {
    if (spec.kind == TableSpec::kSparse) {
      if (!options.directory.empty()) {
        cold = options.directory / fmt::format("{}{}.{}", kCold, spec.id, version);
      }
      sparse = std::make_unique<SparseTable>(spec, options.share, options.owners, cold);
    } else {
      dense = std::make_unique<DenseTable>(spec, options.share);
    }
  }

  const TableSpec spec;
  const Rule rule;
  Powers powers;                        // of the leader
  int version;                          // of the leader, as the next
  std::filesystem::path cold;           // where rows on disk are
  std::unique_ptr<SparseTable> sparse;  // one of the two
  std::unique_ptr<DenseTable> dense;
};

struct Store::Pending {
  RecordKind kind = RecordKind::kPush;
  std::span<const std::byte> body = {};
  uint32_t crc = 0;
  std::span<const PushId> ids = {};
  // Called by the leader, in the log's order, with the number of the record.
  std::function<void(uint64_t record)> apply = {};
  std::unique_ptr<ShardPool::Job> job = {};  // that apply() has submitted

  bool done = false;
  bool repeated = false;
  std::exception_ptr error = {};
};

}  // namespace flotilla::ps
