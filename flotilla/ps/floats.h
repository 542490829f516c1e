// flotilla/ps/floats.h
//
// What tables do to rows: short ones, for which a call costs as much as the work.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flotilla::ps {

inline bool all_finite(const float* values, size_t n) {
  uint32_t bad = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t exponent = std::bit_cast<uint32_t>(values[i]) & 0x7f800000u;
    bad |= static_cast<uint32_t>(exponent == 0x7f800000u);
  }
  return bad == 0;
}

// REQUIRES: they do not overlap
inline void copy_row(float* to, const float* from, size_t n) {
  constexpr size_t kMost = 64;
  if (n > kMost) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  size_t i = 0;
  for (; i + 4 <= n; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace flotilla::ps
