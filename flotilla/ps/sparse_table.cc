#include "flotilla/ps/sparse_table.h"

#include <numeric>

#include "flotilla/base/error.h"

namespace flotilla::ps {

Keys Split::of(int owner) const {
  if (begins_.empty()) return {ids_.data(), nullptr, ids_.size()};
  const auto i = static_cast<size_t>(owner);
  return {ids_.data(), where_.data() + begins_[i], begins_[i + 1] - begins_[i]};
}

SparseTable::SparseTable(const TableSpec& table, const Share& share, int owners,
                         const std::filesystem::path& cold)
    : table_(table), share_(share) {
  require(table.memory == 0 || !cold.empty(),
          "table {} keeps rows on disk, but there is no directory for them", table.name);
  for (int shard = 0; shard < kShards; ++shard) {
    owner_of_[static_cast<size_t>(shard)] =
        share.holds(shard) ? shard / share.servers % owners : -1;
  }
  const int64_t memory = (table.memory + owners - 1) / owners;
  for (int i = 0; i < owners; ++i) {
    parts_.push_back(std::make_unique<SparsePart>(table, memory, cold / fmt::format("{}", i)));
  }
}

Split SparseTable::split(std::span<const int64_t> ids) const {
  require(ids.size() <= 0xffffffffu, "a request for table {} has too many keys: {}", table_.name,
          ids.size());
  Split made;
  made.ids_ = ids;
  if (parts_.size() == 1 && share_.servers == 1) return made;
  std::vector<uint8_t> owners(ids.size());
  made.begins_.assign(parts_.size() + 1, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int shard = shard_of(ids[i]);
    const int owner = owner_of(shard);
    require(owner >= 0, "key {} of table {} belongs to server {}, but this is server {} of {}",
            ids[i], table_.name, Share::server_of(shard, share_.servers), share_.server,
            share_.servers);
    owners[i] = static_cast<uint8_t>(owner);
    ++made.begins_[static_cast<size_t>(owner) + 1];
  }
  if (parts_.size() == 1) {
    made.begins_.clear();
    return made;
  }
  std::partial_sum(made.begins_.begin(), made.begins_.end(), made.begins_.begin());
  std::vector<uint32_t> next(made.begins_.begin(), made.begins_.end() - 1);
  made.where_.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    made.where_[next[owners[i]]++] = static_cast<uint32_t>(i);
  }
  return made;
}

void SparseTable::pull(ShardPool& pool, std::span<const int64_t> ids, std::span<float> values,
                       bool create) {
  require(values.size() == ids.size() * static_cast<size_t>(table_.width),
          "a pull of {} rows of table {} gives {} floats, but there is room for {}", ids.size(),
          table_.name, ids.size() * static_cast<size_t>(table_.width), values.size());
  const Split keys = split(ids);
  pool.run([&](int owner) { part(owner).pull(keys.of(owner), values.data(), create); });
}

void SparseTable::pull_with_state(ShardPool& pool, std::span<const int64_t> ids,
                                  std::span<float> rows) {
  const auto width = static_cast<size_t>(table_.width + state_width());
  require(rows.size() == ids.size() * width,
          "a pull of {} whole rows of table {} gives {} floats, but there is room for {}",
          ids.size(), table_.name, ids.size() * width, rows.size());
  const Split keys = split(ids);
  pool.run([&](int owner) { part(owner).pull_with_state(keys.of(owner), rows.data()); });
}

void SparseTable::push(ShardPool& pool, std::span<const int64_t> ids, std::span<const float> values,
                       const Effect& effect) {
  require(values.size() == ids.size() * static_cast<size_t>(table_.width),
          "a push of {} rows to table {} needs {} floats, but has {}", ids.size(), table_.name,
          ids.size() * static_cast<size_t>(table_.width), values.size());
  const Split keys = split(ids);
  pool.run([&](int owner) { part(owner).push(keys.of(owner), values.data(), effect); });
}

int64_t SparseTable::shrink(ShardPool& pool, const Shrink& rule, uint64_t lsn) {
  std::vector<int64_t> gone(parts_.size());
  pool.run([&](int owner) { gone[static_cast<size_t>(owner)] = part(owner).shrink(rule, lsn); });
  return std::accumulate(gone.begin(), gone.end(), int64_t{0});
}

SparseStats SparseTable::stats(ShardPool& pool) {
  std::vector<SparseStats> all(parts_.size());
  pool.run([&](int owner) { all[static_cast<size_t>(owner)] = part(owner).stats(); });
  SparseStats sum;
  for (const SparseStats& stats : all) sum += stats;
  return sum;
}

}  // namespace flotilla::ps
