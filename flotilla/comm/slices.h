// flotilla/comm/slices.h
//
// How values are cut when every rank works on a part of them.

#pragma once

#include <algorithm>
#include <cstdint>

namespace flotilla::comm {

// Where slice `index` of `count` values begins, in whole cache lines; slice `slices` begins at the
// end. The last ones are empty where there is little.
inline int64_t slice_begin(int64_t count, int64_t element_bytes, int index, int slices) {
  const int64_t line = 64 / element_bytes;
  const int64_t lines = (count + line - 1) / line;
  return std::min(count, lines * index / slices * line);
}

}  // namespace flotilla::comm
