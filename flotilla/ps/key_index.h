// flotilla/ps/key_index.h
//
// From key to row number within one shard: a table of 8-byte slots, probed one after the other. The
// key itself lies in the row; a slot has 16 bits of its hash, so the rows of other keys are almost
// never looked at.
//
// Thread safety: none. Slots move when one is added.

#pragma once

#include <cstdint>
#include <memory>

namespace flotilla::ps {

class KeyIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;
  static constexpr uint16_t kMostUnseen = 0x1fff;

  struct Slot {
    uint32_t row = kNone;
    uint16_t tag = 0;
    uint16_t unseen : 13 = 0;  // shrinks since the row was last pushed to; stops at kMostUnseen
    uint16_t used : 1 = 0;     // since the last search for rows that could leave memory
    uint16_t changed : 1 = 0;  // since it was last copied for a base or a delta
    uint16_t copied : 1 = 0;   // it had changed, and the checkpoint it was copied for may fail yet

    // Whether the next delta has it.
    bool fresh() const { return changed != 0 || copied != 0; }
    // What goes with the row to disk.
    uint32_t history() const {
      return uint32_t{unseen} | (uint32_t{copied} << 30) | (uint32_t{changed} << 31);
    }
    void set_history(uint32_t from) {
      const uint32_t count = from & 0x3fffffffu;
      unseen = static_cast<uint16_t>(count < kMostUnseen ? count : kMostUnseen) & kMostUnseen;
      copied = (from >> 30) & 1;
      changed = (from >> 31) & 1;
    }
  };

  static uint16_t tag_of(uint64_t hash) { return static_cast<uint16_t>(hash >> 40); }

  uint32_t size() const { return size_; }
  int64_t bytes() const { return static_cast<int64_t>((mask_ + 1) * sizeof(Slot)); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(slots_.get() + (hash & mask_), 0, 3); }

  // The slot whose row is the key's if any is: the first for which same(row) holds; an empty one
  // where there is none.
  template <typename Same>
  Slot& find(uint64_t hash, Same same) const {
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.row == kNone || (slot.tag == tag_of(hash) && same(slot.row))) return slot;
    }
  }

  // Makes room for one more. hash_of_row(row) gives the hash of the row's key.
  template <typename HashOfRow>
  void reserve(HashOfRow hash_of_row) {
    // Seven of ten slots may be taken.
    if ((size_ + 1) * uint64_t{10} <= (mask_ + 1) * 7) return;
    rebuild((mask_ + 1) * 2, hash_of_row, [](Slot&) { return true; });
  }
  // REQUIRES: reserve() was called, and the key is not there
  Slot& add(uint64_t hash, uint32_t row) { return put(hash, {row, tag_of(hash), 0, 1}); }

  // Calls keep(slot) for each slot that has a row, and drops those for which it is false.
  template <typename HashOfRow, typename Keep>
  void filter(HashOfRow hash_of_row, Keep keep) {
    rebuild(mask_ + 1, hash_of_row, keep);
  }

  template <typename F>
  void for_each(F f) const {
    for (uint64_t at = 0; at <= mask_; ++at) {
      if (slots_[at].row != kNone) f(slots_[at]);
    }
  }

 private:
  Slot& put(uint64_t hash, const Slot& slot) {
    ++size_;
    return find(hash, [](uint32_t) { return false; }) = slot;
  }

  template <typename HashOfRow, typename Keep>
  void rebuild(uint64_t capacity, HashOfRow hash_of_row, Keep keep) {
    const std::unique_ptr<Slot[]> old = std::move(slots_);
    const uint64_t old_capacity = mask_ + 1;
    slots_ = std::make_unique<Slot[]>(capacity);
    mask_ = capacity - 1;
    size_ = 0;
    for (uint64_t at = 0; at < old_capacity; ++at) {
      Slot& slot = old[at];
      if (slot.row == kNone || !keep(slot)) continue;
      put(hash_of_row(slot.row), slot);
    }
  }

  static constexpr uint64_t kFirst = 16;

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kFirst);
  uint64_t mask_ = kFirst - 1;
  uint32_t size_ = 0;
};

}  // namespace flotilla::ps
