// flotilla/ps/sparse_row.h
//
// The bytes of a sparse table's row: in memory the key, then values and state; on disk ColdHead,
// then values and state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace flotilla::ps {

struct ColdHead {
  uint32_t history = 0;
  float score = 0;
};

inline int64_t key_at(const std::byte* row) {
  int64_t key;
  std::memcpy(&key, row, sizeof key);
  return key;
}

struct SparseRow {
  SparseRow(std::byte* row, size_t width, size_t state_size)
      : value(reinterpret_cast<float*>(row + sizeof(int64_t)), width),
        state(value.data() + width, state_size) {}

  std::span<float> value;
  std::span<float> state;
};

inline void prefetch_row(const std::byte* row, size_t bytes) {
  const std::byte* line = row - reinterpret_cast<uintptr_t>(row) % 64;
  for (; line < row + bytes; line += 64) __builtin_prefetch(line, 1, 3);
}

}  // namespace flotilla::ps
