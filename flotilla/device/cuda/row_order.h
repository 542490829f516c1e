// flotilla/device/cuda/row_order.h
//
// The order of row numbers that may repeat, as of a sparse gradient: a stable sort, so that what
// belongs to one row stands together, in the order in which it came.
//
// The result is one key for each number, key = row << position_bits | position. A number that is no
// row becomes row `height`, behind all others.

#pragma once

#include <cstdint>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

struct RowOrder {
  int64_t count = 0;
  int64_t height = 0;
  int position_bits = 0;
  int row_bits = 0;

  // Refuses more numbers and rows than a key can tell apart.
  static RowOrder of(int64_t count, int64_t height);

  // The workspace that sort() needs: an upper bound, the same on every GPU.
  int64_t workspace_bytes() const;
  // Enqueues the sort of `rows`; `keys` and `sorted` have room for `count`.
  void sort(Stream stream, const int64_t* rows, uint64_t* keys, uint64_t* sorted,
            void* workspace) const;
};

}  // namespace flotilla::cuda
