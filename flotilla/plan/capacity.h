// flotilla/plan/capacity.h
//
// Plans for feeds whose number of rows changes have memory for a class of sizes.

#pragma once

#include <bit>
#include <cstdint>

namespace flotilla::plan {

// The capacity class of an extent or of a size in bytes: the next power of two.
inline int64_t capacity_of(int64_t extent) {
  return extent <= 0 ? extent : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
}

}  // namespace flotilla::plan
