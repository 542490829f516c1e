#include "flotilla/ps/sparse_part.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/ps/floats.h"
#include "flotilla/ps/initial.h"
#include "flotilla/ps/sparse_row.h"

namespace flotilla::ps {
namespace {

constexpr size_t kBlock = 32;

}  // namespace

SparseStats& SparseStats::operator+=(const SparseStats& other) {
  rows += other.rows;
  cold += other.cold;
  waiting += other.waiting;
  bytes += other.bytes;
  pulled += other.pulled;
  pushed += other.pushed;
  refused += other.refused;
  evicted += other.evicted;
  return *this;
}

SparsePart::SparsePart(const TableSpec& table, int64_t memory, const std::filesystem::path& cold)
    : table_(table),
      rule_(table),
      width_(static_cast<size_t>(table.width)),
      state_(static_cast<size_t>(rule_.state_size(table.width))),
      row_bytes_(sizeof(ColdHead) + (width_ + state_) * sizeof(float)),
      arena_(sizeof(int64_t) + (width_ + state_) * sizeof(float)),
      memory_(memory),
      cold_(memory > 0 ? std::make_unique<ColdRows>(cold) : nullptr),
      shards_(kShards),
      grad_(width_) {}

auto SparsePart::hash_of_row() const {
  return [this](uint32_t row) { return hash_of(key_at(arena_.at(row))); };
}

SparsePart::Found SparsePart::find(int64_t key, uint64_t hash) {
  KeyIndex::Slot& slot =
      shard_of(hash).index.find(hash, [&](uint32_t row) { return key_at(arena_.at(row)) == key; });
  if (slot.row != KeyIndex::kNone) {
    if (cold_) slot.used = 1;
    return {arena_.at(slot.row), &slot};
  }
  if (!cold_ || !cold_->take(key, cold_row_)) return {};
  const Found found = add(key, hash);
  get_row(cold_row_, found);
  return found;
}

SparsePart::Found SparsePart::add(int64_t key, uint64_t hash) {
  KeyIndex& index = shard_of(hash).index;
  index.reserve(hash_of_row());
  const uint32_t number = arena_.take();
  std::byte* bytes = arena_.at(number);
  std::memcpy(bytes, &key, sizeof key);
  if (table_.scores && scores_.size() <= number) {
    scores_.resize(std::bit_ceil(size_t{number} + 1));
  }
  ++resident_;
  return {bytes, &index.add(hash, number)};
}

SparsePart::Found SparsePart::create(int64_t key, uint64_t hash) {
  const Found made = add(key, hash);
  const SparseRow row(made.row, width_, state_);
  fill_initial(table_, key, row.value);
  rule_.start(row.state, table_.width);
  if (table_.scores) scores_[made.slot->row] = 0;
  return made;
}

// A clock over the shards: a row that was used since the hand last came by is spared once. Where
// the disk takes no more, rows stay in memory.
void SparsePart::make_room() {
  if (!cold_ || resident_ <= std::max(memory_, tolerated_)) return;
  tolerated_ = 0;
  // Some at a time: each visit costs two passes over a shard.
  const int64_t enough = memory_ - memory_ / 16;
  try {
    for (; resident_ > enough; hand_ = (hand_ + 1) % shards_.size()) {
      send_to_disk(shards_[hand_], resident_ - enough);
    }
  } catch (const Error& error) {
    tolerated_ = resident_ + memory_ / 16 + 1;
    log::warning("table {} has {} rows in memory instead of {}: {}", table_.name, resident_,
                 memory_, error.what());
  }
}

void SparsePart::send_to_disk(Shard& shard, int64_t most) {
  absl::flat_hash_set<uint32_t> chosen;
  std::vector<std::byte> bytes(row_bytes_);
  shard.index.for_each([&](KeyIndex::Slot& slot) {
    if (slot.used != 0 || static_cast<int64_t>(chosen.size()) == most) {
      slot.used = 0;
      return;
    }
    put_row(slot, bytes);
    cold_->put(key_at(arena_.at(slot.row)), bytes);
    chosen.insert(slot.row);
  });
  if (chosen.empty()) return;
  cold_->flush();
  shard.index.filter(hash_of_row(),
                     [&](const KeyIndex::Slot& slot) { return !chosen.contains(slot.row); });
  for (const uint32_t row : chosen) arena_.give_back(row);
  resident_ -= static_cast<int64_t>(chosen.size());
}

// Calls work(i, guess) for i in [0, count), where `guess` is almost always the row of the i-th key
// if it has one, and null if it had none when the block began. The slots of a block are asked for
// while the block before is worked on.
template <typename HashOf, typename Work>
void SparsePart::in_blocks(size_t count, size_t row_bytes, HashOf hash_at, Work work) {
  std::byte* guesses[kBlock];
  const auto ask = [&](size_t begin) {
    for (size_t i = begin; i < std::min(begin + kBlock, count); ++i) {
      const uint64_t hash = hash_at(i);
      shard_of(hash).index.prefetch(hash);
    }
  };
  ask(0);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, count);
    for (size_t i = begin; i < end; ++i) {
      const uint64_t hash = hash_at(i);
      const KeyIndex::Slot& slot = shard_of(hash).index.find(hash, [](uint32_t) { return true; });
      std::byte* row = slot.row == KeyIndex::kNone ? nullptr : arena_.at(slot.row);
      if (row != nullptr) prefetch_row(row, row_bytes);
      guesses[i - begin] = row;
    }
    ask(end);
    for (size_t i = begin; i < end; ++i) work(i, guesses[i - begin]);
  }
}

void SparsePart::copy_out(int64_t key, uint64_t hash, std::byte* guess, float* to, bool create) {
  std::byte* row = guess;
  if (row == nullptr || cold_ || key_at(row) != key) row = find(key, hash).row;
  if (row == nullptr && table_.admission.kind != Admission::kAll) {
    std::fill_n(to, width_, 0.0f);
    return;
  }
  if (row == nullptr && !create) {
    fill_initial(table_, key, {to, width_});
    return;
  }
  if (row == nullptr) row = this->create(key, hash).row;
  copy_row(to, reinterpret_cast<const float*>(row + sizeof(int64_t)), width_);
}

void SparsePart::pull(const Keys& keys, float* values, bool create) {
  const auto hash_at = [&](size_t i) { return hash_of(keys.ids[keys.position(i)]); };
  in_blocks(keys.count, sizeof(int64_t) + width_ * sizeof(float), hash_at,
            [&](size_t i, std::byte* guess) {
              const size_t at = keys.position(i);
              copy_out(keys.ids[at], hash_at(i), guess, values + at * width_, create);
            });
  stats_.pulled += static_cast<int64_t>(keys.count);
  make_room();
}

void SparsePart::pull_with_state(const Keys& keys, float* rows) {
  for (size_t i = 0; i < keys.count; ++i) {
    const size_t at = keys.position(i);
    const int64_t key = keys.ids[at];
    float* to = rows + at * (width_ + state_);
    copy_out(key, hash_of(key), nullptr, to, false);
    const std::byte* row = find(key, hash_of(key)).row;
    if (row == nullptr) {
      rule_.start({to + width_, state_}, table_.width);
    } else {
      std::memcpy(to + width_, row + sizeof(int64_t) + width_ * sizeof(float),
                  state_ * sizeof(float));
    }
  }
  make_room();
}

// A key without a row, in a table with admission: it is counted, and gets its row when it is time.
// The gradient of that appearance belongs to the zeros that were pulled, and is dropped too.
void SparsePart::count_appearance(const MergedKeys::Key& merged) {
  auto& waiting_keys = shard_of(merged.hash).waiting;
  Waiting& waiting = waiting_keys[merged.key];
  waiting.unseen = 0;
  for (uint32_t n = 0; n < merged.count; ++n) {
    if (waiting.count < std::numeric_limits<uint32_t>::max()) ++waiting.count;
    if (!admits(table_, merged.key, waiting.count)) continue;
    waiting_keys.erase(merged.key);
    create(merged.key, merged.hash).slot->changed = 1;
    return;
  }
}

void SparsePart::apply(const MergedKeys::Key& merged, const Effect& effect) {
  const float* given = merged.values;
  if (effect.action != Action::kAssign && effect.scale != 1) {
    for (size_t i = 0; i < width_; ++i) grad_[i] = given[i] * effect.scale;
    given = grad_.data();
  }
  if (!all_finite(given, width_)) {
    warn_of_refusal(table_, ++stats_.refused, fmt::format("the row of key {}", merged.key));
    return;
  }
  Found found = find(merged.key, merged.hash);
  if (found.row == nullptr) {
    if (table_.admission.kind != Admission::kAll && effect.action != Action::kAssign) {
      return count_appearance(merged);
    }
    shard_of(merged.hash).waiting.erase(merged.key);
    found = create(merged.key, merged.hash);
  }
  found.slot->unseen = 0;
  found.slot->changed = 1;
  if (table_.scores) scores_[found.slot->row] += static_cast<float>(merged.count);
  const SparseRow row(found.row, width_, state_);
  switch (effect.action) {
    case Action::kGradient:
      if (rule_.decays()) {
        if (given != grad_.data()) std::copy_n(given, width_, grad_.data());
        rule_.decay(row.value, grad_);
        given = grad_.data();
      }
      rule_.apply(row.value, {given, width_}, row.state, effect.round);
      break;
    case Action::kDelta:
      for (size_t i = 0; i < width_; ++i) row.value[i] += given[i];
      break;
    case Action::kAssign:
      std::copy_n(given, width_, row.value.begin());
      break;
  }
  ++stats_.pushed;
}

void SparsePart::push(const Keys& keys, const float* values, const Effect& effect) {
  merged_.merge(
      keys, values, width_,
      effect.action == Action::kAssign ? MergedKeys::Equal::kLast : MergedKeys::Equal::kSum,
      [&](uint64_t hash) { return effect.lsn <= shard_of(hash).lsn; });
  in_blocks(
      merged_.size(), arena_.stride(), [&](size_t i) { return merged_[i].hash; },
      [&](size_t i, std::byte*) { apply(merged_[i], effect); });
  make_room();
}

int64_t SparsePart::shrink(const Shrink& rule, uint64_t lsn) {
  const int64_t before = stats_.evicted;
  const auto too_old = [&](uint32_t unseen) {
    return rule.max_unseen > 0 && unseen > rule.max_unseen;
  };
  // Counts a row as unseen once more; whether it stays.
  const auto visit = [&](uint32_t unseen, float& score) {
    if (table_.scores) score *= rule.decay;
    const bool keep =
        !too_old(unseen) && (!table_.scores || rule.min_score <= 0 || score >= rule.min_score);
    stats_.evicted += !keep;
    return keep;
  };
  float none = 0;
  for (size_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    if (lsn <= shard.lsn) continue;
    shard.index.filter(hash_of_row(), [&](KeyIndex::Slot& slot) {
      if (slot.unseen < KeyIndex::kMostUnseen) slot.unseen = slot.unseen + 1;
      const bool keep = visit(slot.unseen, table_.scores ? scores_[slot.row] : none);
      if (keep) return true;
      arena_.give_back(slot.row);
      --resident_;
      return false;
    });
    absl::erase_if(shard.waiting, [&](auto& entry) { return too_old(++entry.second.unseen); });
    if (!cold_) continue;
    cold_->update(static_cast<int>(number), [&](std::span<std::byte> row) {
      ColdHead head;
      std::memcpy(&head, row.data(), sizeof head);
      KeyIndex::Slot slot;
      slot.set_history(head.history);
      if (slot.unseen < KeyIndex::kMostUnseen) slot.unseen = slot.unseen + 1;
      const bool keep = visit(slot.unseen, head.score);
      head.history = slot.history();
      std::memcpy(row.data(), &head, sizeof head);
      return keep;
    });
  }
  return stats_.evicted - before;
}

void SparsePart::collect(int shard, std::vector<int64_t>& keys, std::vector<float>& values) const {
  if (cold_) {
    cold_->for_each(shard, [&](int64_t key, std::span<const std::byte> row) {
      const auto* floats = reinterpret_cast<const float*>(row.data() + sizeof(ColdHead));
      keys.push_back(key);
      values.insert(values.end(), floats, floats + width_);
    });
  }
  shards_[static_cast<size_t>(shard)].index.for_each([&](const KeyIndex::Slot& slot) {
    std::byte* row = arena_.at(slot.row);
    const std::span<const float> value = SparseRow(row, width_, state_).value;
    keys.push_back(key_at(row));
    values.insert(values.end(), value.begin(), value.end());
  });
}

SparseStats SparsePart::stats() const {
  SparseStats stats = stats_;
  stats.bytes = arena_.bytes() + static_cast<int64_t>(scores_.size() * sizeof(float));
  stats.cold = cold_ ? cold_->size() : 0;
  stats.rows = stats.cold;
  for (const Shard& shard : shards_) {
    const auto waiting = static_cast<int64_t>(shard.waiting.size());
    stats.rows += shard.index.size();
    stats.waiting += waiting;
    stats.bytes += shard.index.bytes() + waiting * (sizeof(int64_t) + sizeof(Waiting));
  }
  return stats;
}

}  // namespace flotilla::ps
