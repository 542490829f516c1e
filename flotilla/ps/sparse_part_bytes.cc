// flotilla/ps/sparse_part_bytes.cc
//
// A shard of a sparse table as bytes, and back; the grammar stands in sparse_part.h.

#include <algorithm>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"
#include "flotilla/ps/sparse_part.h"

namespace flotilla::ps {

void SparsePart::save(int number, std::vector<std::byte>& bytes) const {
  const Shard& shard = shards_[static_cast<size_t>(number)];
  const size_t floats = (width_ + state_) * sizeof(float);
  bytes.resize(16 + shard.index.size() * (16 + floats) + shard.waiting.size() * 16);
  ByteWriter to(bytes);
  to.put<uint64_t>(shard.index.size());
  to.put<uint64_t>(shard.waiting.size());
  shard.index.for_each([&](const KeyIndex::Slot& slot) {
    const std::byte* row = arena_.at(slot.row);
    to.put<int64_t>(key_at(row));
    to.put<uint32_t>(slot.unseen);
    to.put<float>(table_.scores ? scores_[slot.row] : 0.0f);
    to.put_bytes({row + sizeof(int64_t), floats});
  });
  for (const auto& [key, waiting] : shard.waiting) {
    to.put<int64_t>(key);
    to.put<uint32_t>(waiting.count);
    to.put<uint32_t>(waiting.unseen);
  }
}

void SparsePart::load(int number, std::span<const std::byte> bytes, uint64_t lsn) {
  Shard& shard = shards_[static_cast<size_t>(number)];
  require(shard.index.size() == 0 && shard.waiting.empty(),
          "shard {} of table {} can be loaded only while it is empty", number, table_.name);
  ByteReader from(bytes);
  const auto rows = from.get<uint64_t>(), waiting = from.get<uint64_t>();
  const size_t floats = (width_ + state_) * sizeof(float);
  require(from.left() / (16 + floats) >= rows &&
              (from.left() - rows * (16 + floats)) / 16 == waiting &&
              (from.left() - rows * (16 + floats)) % 16 == 0,
          "shard {} of table {} has {} bytes, which do not hold {} rows and {} keys that wait",
          number, table_.name, bytes.size(), rows, waiting);
  const auto check_key = [&](int64_t key) {
    require(ps::shard_of(key) == number, "shard {} of table {} holds key {}, which is none of its",
            number, table_.name, key);
  };
  for (uint64_t i = 0; i < rows; ++i) {
    const auto key = from.get<int64_t>();
    check_key(key);
    const auto unseen = from.get<uint32_t>();
    const auto score = from.get<float>();
    const uint64_t hash = hash_of(key);
    require(find(key, hash).row == nullptr, "shard {} of table {} holds key {} twice", number,
            table_.name, key);
    const Found made = create(key, hash);
    made.slot->unseen = static_cast<uint16_t>(std::min<uint32_t>(unseen, 0xffff));
    if (table_.scores) scores_[made.slot->row] = score;
    const std::span<const std::byte> values = from.get_bytes(floats);
    std::memcpy(made.row + sizeof(int64_t), values.data(), floats);
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
