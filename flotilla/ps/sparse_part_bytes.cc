// flotilla/ps/sparse_part_bytes.cc
//
// A shard of a sparse table as bytes, and back; the grammar stands in sparse_part.h.

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/sparse_part.h"
#include "flotilla/ps/sparse_row.h"

namespace flotilla::ps {

void SparsePart::put_row(const KeyIndex::Slot& slot, std::span<std::byte> bytes) const {
  ByteWriter to(bytes);
  to.put<uint32_t>(slot.history());
  to.put<float>(table_.scores ? scores_[slot.row] : 0.0f);
  to.put_bytes({arena_.at(slot.row) + sizeof(int64_t), (width_ + state_) * sizeof(float)});
}

void SparsePart::get_row(std::span<const std::byte> bytes, const Found& to) {
  ByteReader from(bytes);
  to.slot->set_history(from.get<uint32_t>());
  const auto score = from.get<float>();
  if (table_.scores) scores_[to.slot->row] = score;
  const size_t floats = (width_ + state_) * sizeof(float);
  std::memcpy(to.row + sizeof(int64_t), from.get_bytes(floats).data(), floats);
}

template <typename Change>
void SparsePart::update_histories(int number, Change change) {
  shards_[static_cast<size_t>(number)].index.for_each(change);
  if (!cold_) return;
  cold_->update(number, [&](std::span<std::byte> row) {
    uint32_t history;
    std::memcpy(&history, row.data(), sizeof history);
    KeyIndex::Slot slot;
    slot.set_history(history);
    change(slot);
    history = slot.history();
    std::memcpy(row.data(), &history, sizeof history);
    return true;
  });
}

int64_t SparsePart::save(int number, std::vector<std::byte>& bytes, SaveMode mode) {
  const Shard& shard = shards_[static_cast<size_t>(number)];
  const auto wanted = [&](uint32_t history) {
    KeyIndex::Slot slot;
    slot.set_history(history);
    return mode != SaveMode::kDelta || slot.fresh();
  };
  const auto see_cold = [&](const ColdRows::See& see) {
    if (!cold_) return;
    cold_->for_each(number, [&](int64_t key, std::span<const std::byte> row) {
      if (wanted(ByteReader(row).get<uint32_t>())) see(key, row);
    });
  };
  auto rows = static_cast<size_t>(this->rows(number));
  if (mode == SaveMode::kDelta) {
    rows = 0;
    shard.index.for_each([&](const KeyIndex::Slot& slot) { rows += slot.fresh(); });
    see_cold([&](int64_t, std::span<const std::byte>) { ++rows; });
  }
  bytes.resize(16 + rows * (sizeof(int64_t) + row_bytes_) + shard.waiting.size() * 16);
  ByteWriter to(bytes);
  to.put<uint64_t>(rows);
  to.put<uint64_t>(shard.waiting.size());
  std::vector<std::byte> row(row_bytes_);
  shard.index.for_each([&](const KeyIndex::Slot& slot) {
    if (!wanted(slot.history())) return;
    to.put<int64_t>(key_at(arena_.at(slot.row)));
    put_row(slot, row);
    to.put_bytes(row);
  });
  see_cold([&](int64_t key, std::span<const std::byte> cold) {
    to.put<int64_t>(key);
    to.put_bytes(cold);
  });
  for (const auto& [key, waiting] : shard.waiting) {
    to.put<int64_t>(key);
    to.put<uint32_t>(waiting.count);
    to.put<uint32_t>(waiting.unseen);
  }
  if (mode != SaveMode::kAll) {
    update_histories(number, [](KeyIndex::Slot& slot) {
      slot.copied = slot.fresh();
      slot.changed = 0;
    });
  }
  return static_cast<int64_t>(rows);
}

void SparsePart::saved() {
  for (int number = 0; number < kShards; ++number) {
    if (rows(number) > 0) update_histories(number, [](KeyIndex::Slot& slot) { slot.copied = 0; });
  }
}

void SparsePart::load(int number, std::span<const std::byte> bytes, uint64_t lsn, LoadMode mode) {
  Shard& shard = shards_[static_cast<size_t>(number)];
  const bool delta = mode == LoadMode::kDelta;
  require(delta || (rows(number) == 0 && shard.waiting.empty()),
          "shard {} of table {} can be loaded only while it is empty", number, table_.name);
  ByteReader from(bytes);
  const auto rows = from.get<uint64_t>(), waiting = from.get<uint64_t>();
  const size_t row_size = sizeof(int64_t) + row_bytes_;
  require(from.left() / row_size >= rows && (from.left() - rows * row_size) / 16 == waiting &&
              (from.left() - rows * row_size) % 16 == 0,
          "shard {} of table {} has {} bytes, which cannot hold {} rows and {} pending keys",
          number, table_.name, bytes.size(), rows, waiting);
  const auto check_key = [&](int64_t key) {
    require(ps::shard_of(key) == number, "key {2} does not belong in shard {0} of table {1}",
            number, table_.name, key);
  };
  for (uint64_t i = 0; i < rows; ++i) {
    const auto key = from.get<int64_t>();
    check_key(key);
    const uint64_t hash = hash_of(key);
    Found found = find(key, hash);
    require(delta || found.row == nullptr, "shard {} of table {} holds key {} twice", number,
            table_.name, key);
    if (found.row == nullptr) found = add(key, hash);
    get_row(from.get_bytes(row_bytes_), found);
    if (mode != LoadMode::kSnapshot) found.slot->changed = found.slot->copied = 0;
    shard.waiting.erase(key);
    make_room();
  }
  for (uint64_t i = 0; i < waiting; ++i) {
    const auto key = from.get<int64_t>();
    check_key(key);
    Waiting& entry = shard.waiting[key];
    entry.count = from.get<uint32_t>();
    entry.unseen = from.get<uint32_t>();
  }
  shard.lsn = lsn;
}

}  // namespace flotilla::ps
