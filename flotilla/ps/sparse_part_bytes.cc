// flotilla/ps/sparse_part_bytes.cc
//
// A shard of a sparse table as bytes, and back; the grammar stands in sparse_part.h.

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/sparse_part.h"

namespace flotilla::ps {

void SparsePart::put_row(const KeyIndex::Slot& slot, std::span<std::byte> bytes) const {
  ByteWriter to(bytes);
  to.put<uint32_t>(slot.unseen);
  to.put<float>(table_.scores ? scores_[slot.row] : 0.0f);
  to.put_bytes({arena_.at(slot.row) + sizeof(int64_t), (width_ + state_) * sizeof(float)});
}

void SparsePart::get_row(std::span<const std::byte> bytes, const Found& to) {
  ByteReader from(bytes);
  to.slot->unseen = std::min<uint32_t>(from.get<uint32_t>(), KeyIndex::kMostUnseen);
  const auto score = from.get<float>();
  if (table_.scores) scores_[to.slot->row] = score;
  const size_t floats = (width_ + state_) * sizeof(float);
  std::memcpy(to.row + sizeof(int64_t), from.get_bytes(floats).data(), floats);
}

void SparsePart::save(int number, std::vector<std::byte>& bytes) const {
  const Shard& shard = shards_[static_cast<size_t>(number)];
  const auto rows = static_cast<size_t>(this->rows(number));
  bytes.resize(16 + rows * (sizeof(int64_t) + row_bytes()) + shard.waiting.size() * 16);
  ByteWriter to(bytes);
  to.put<uint64_t>(rows);
  to.put<uint64_t>(shard.waiting.size());
  std::vector<std::byte> row(row_bytes());
  shard.index.for_each([&](const KeyIndex::Slot& slot) {
    to.put<int64_t>(key_at(arena_.at(slot.row)));
    put_row(slot, row);
    to.put_bytes(row);
  });
  if (cold_) {
    cold_->for_each(number, [&](int64_t key, std::span<const std::byte> cold) {
      to.put<int64_t>(key);
      to.put_bytes(cold);
    });
  }
  for (const auto& [key, waiting] : shard.waiting) {
    to.put<int64_t>(key);
    to.put<uint32_t>(waiting.count);
    to.put<uint32_t>(waiting.unseen);
  }
}

void SparsePart::load(int number, std::span<const std::byte> bytes, uint64_t lsn) {
  Shard& shard = shards_[static_cast<size_t>(number)];
  require(rows(number) == 0 && shard.waiting.empty(),
          "shard {} of table {} can be loaded only while it is empty", number, table_.name);
  ByteReader from(bytes);
  const auto rows = from.get<uint64_t>(), waiting = from.get<uint64_t>();
  const size_t row_size = sizeof(int64_t) + row_bytes();
  require(from.left() / row_size >= rows && (from.left() - rows * row_size) / 16 == waiting &&
              (from.left() - rows * row_size) % 16 == 0,
          "shard {} of table {} has {} bytes, which do not hold {} rows and {} keys that wait",
          number, table_.name, bytes.size(), rows, waiting);
  const auto check_key = [&](int64_t key) {
    require(ps::shard_of(key) == number, "shard {} of table {} holds key {}, which is none of its",
            number, table_.name, key);
  };
  for (uint64_t i = 0; i < rows; ++i) {
    const auto key = from.get<int64_t>();
    check_key(key);
    const uint64_t hash = hash_of(key);
    require(find(key, hash).row == nullptr, "shard {} of table {} holds key {} twice", number,
            table_.name, key);
    get_row(from.get_bytes(row_bytes()), add(key, hash));
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
