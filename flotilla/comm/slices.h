// flotilla/comm/slices.h
//
// How values are cut when every rank works on a part of them, and brought where they belong.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

namespace flotilla::comm {

// Where slice `index` of `count` values begins, in whole cache lines; slice `slices` begins at the
// end. The last ones are empty where there is little.
inline int64_t slice_begin(int64_t count, int64_t element_bytes, int index, int slices) {
  const int64_t line = 64 / element_bytes;
  const int64_t lines = (count + line - 1) / line;
  return std::min(count, lines * index / slices * line);
}

inline char* bytes_at(void* data, int64_t at) { return static_cast<char*>(data) + at; }
inline const char* bytes_at(const void* data, int64_t at) {
  return static_cast<const char*>(data) + at;
}

// Nothing where they are there already, as in a call in place.
inline void copy(const void* from, void* to, int64_t bytes) {
  if (from != to && bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Memory that grows with what is asked of it, and of which nothing is kept.
class Scratch {
 public:
  char* at_least(int64_t bytes) {
    if (bytes > bytes_) {
      data_ = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes));
      bytes_ = bytes;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<char[]> data_;
  int64_t bytes_ = 0;
};

}  // namespace flotilla::comm
