// flotilla/ps/cold_rows.h
//
// Rows that do not fit in memory, in a RocksDB. It is no more than room: what a table has to keep
// is in its log and snapshots, and a new table begins with an empty one.
//
// The library is loaded when the first table needs it.
//
// Thread safety: none; it belongs to the owner of its shards.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/ps/table.h"

namespace flotilla::ps {

class ColdRows {
 public:
  // Empties `folder`.
  explicit ColdRows(const std::filesystem::path& folder);
  ~ColdRows();
  ColdRows(const ColdRows&) = delete;
  ColdRows& operator=(const ColdRows&) = delete;

  // Whether the library is there.
  static bool available();

  // Reads a row and removes it; false: it is not here. REQUIRES: nothing put since the last flush()
  bool take(int64_t key, std::vector<std::byte>& row);
  // Many are written at once, by flush(); where that fails, none of them.
  void put(int64_t key, std::span<const std::byte> row);
  void flush();

  int64_t size(int shard) const { return sizes_[static_cast<size_t>(shard)]; }
  int64_t size() const;

  using See = std::function<void(int64_t key, std::span<const std::byte> row)>;
  void for_each(int shard, const See& see) const;
  // Lets `change` change every row of a shard, and removes those for which it is false.
  void update(int shard, const std::function<bool(std::span<std::byte> row)>& change);

 private:
  struct Library;
  struct Database;
  static const Library* library();

  std::unique_ptr<Database> database_;
  std::array<int64_t, kShards> sizes_ = {};
  std::vector<int> put_;  // the shards of what flush() will write
};

}  // namespace flotilla::ps
