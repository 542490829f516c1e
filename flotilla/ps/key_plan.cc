#include "flotilla/ps/key_plan.h"

#include <algorithm>
#include <bit>

#include "flotilla/base/error.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

void KeyPlan::grow(size_t slots) {
  if (slots > table_.size() || ++step_ == 0) {
    table_.assign(std::max(std::bit_ceil(slots), table_.size()), Slot());
    step_ = 1;
  }
}

uint32_t KeyPlan::insert(int64_t key) {
  const size_t mask = table_.size() - 1;
  for (size_t i = hash_of(key) & mask;; i = (i + 1) & mask) {
    Slot& slot = table_[i];
    if (slot.step != step_) {
      slot = {key, static_cast<uint32_t>(keys_.size()), step_};
      keys_.push_back(key);
      return slot.place;
    }
    if (slot.key == key) return slot.place;
  }
}

void KeyPlan::make(std::span<const std::span<const int64_t>> slots, int servers, bool has_padding,
                   int64_t padding) {
  size_t count = 0;
  for (const std::span<const int64_t> ids : slots) count += ids.size();
  require(count < kPadding / 2, "a step may look up at most {} ids, but has {}", kPadding / 2,
          count);
  grow(count * 2 + 1);
  keys_.clear();
  places_.resize(count);
  uint32_t* place = places_.data();
  for (const std::span<const int64_t> ids : slots) {
    for (const int64_t id : ids) *place++ = has_padding && id == padding ? kPadding : insert(id);
  }
  order_by_server(servers);
}

void KeyPlan::order_by_server(int servers) {
  begins_.assign(static_cast<size_t>(servers) + 1, 0);
  begins_.back() = keys_.size();
  if (servers == 1) return;
  const auto server_of = [&](int64_t key) {
    return static_cast<size_t>(Share::server_of(shard_of(key), servers));
  };
  std::fill(begins_.begin(), begins_.end(), 0);
  for (const int64_t key : keys_) ++begins_[server_of(key) + 1];
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
  std::vector<int64_t> ordered(keys_.size());
  std::vector<uint32_t> moved(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    const size_t to = next[server_of(keys_[i])]++;
    ordered[to] = keys_[i];
    moved[i] = static_cast<uint32_t>(to);
  }
  keys_.swap(ordered);
  for (uint32_t& place : places_) {
    if (place != kPadding) place = moved[place];
  }
}

}  // namespace flotilla::ps
