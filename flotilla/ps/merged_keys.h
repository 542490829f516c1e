// flotilla/ps/merged_keys.h
//
// The keys of a push, each once: rows of equal keys are added up in the order in which they come.
//
// Thread safety: none; it belongs to the owner of the rows.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flotilla/ps/table.h"

namespace flotilla::ps {

// The keys of a request that belong to one owner: ids[where[i]], or ids[i] where `where` is null.
struct Keys {
  const int64_t* ids = nullptr;
  const uint32_t* where = nullptr;
  size_t count = 0;

  size_t position(size_t i) const { return where == nullptr ? i : where[i]; }
};

class MergedKeys {
 public:
  struct Key {
    int64_t key = 0;
    uint64_t hash = 0;
    const float* values = nullptr;  // of the caller, or a sum that the next merge() overwrites
    uint32_t count = 0;             // how often it came
  };

  // What the rows of equal keys become.
  enum class Equal { kSum, kLast };

  // In the place of what was merged before, in the order in which keys first come. Row i has
  // `width` floats, at values[position(i) * width]. Keys for whose hash skip(hash) holds are left
  // out.
  template <typename Skip>
  void merge(const Keys& keys, const float* values, size_t width, Equal equal, Skip&& skip) {
    keys_.clear();
    const uint64_t mask = std::bit_ceil(keys.count * 2 + 1) - 1;
    places_.assign(mask + 1, 0);
    // Two rows at least make a sum.
    if (sums_.size() < keys.count / 2 * width) sums_.resize(keys.count / 2 * width);
    float* next_sum = sums_.data();
    for (size_t i = 0; i < keys.count; ++i) {
      const size_t position = keys.position(i);
      const int64_t key = keys.ids[position];
      const uint64_t hash = hash_of(key);
      if (skip(hash)) continue;
      const float* row = values + position * width;
      uint64_t at = hash & mask;
      while (places_[at] != 0 && keys_[places_[at] - 1].key != key) at = (at + 1) & mask;
      if (places_[at] == 0) {
        keys_.push_back({key, hash, row, 1});
        places_[at] = static_cast<uint32_t>(keys_.size());
        continue;
      }
      Key& merged = keys_[places_[at] - 1];
      if (equal == Equal::kLast) {
        merged.values = row;
        continue;
      }
      if (merged.count++ == 1) {
        std::copy_n(merged.values, width, next_sum);
        merged.values = next_sum;
        next_sum += width;
      }
      float* sum = const_cast<float*>(merged.values);  // it lies in sums_
      for (size_t j = 0; j < width; ++j) sum[j] += row[j];
    }
  }

  size_t size() const { return keys_.size(); }
  const Key& operator[](size_t i) const { return keys_[i]; }

 private:
  std::vector<Key> keys_;
  std::vector<uint32_t> places_;  // by hash: a key's number and one; 0: none
  std::vector<float> sums_;
};

}  // namespace flotilla::ps
