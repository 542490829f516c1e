// flotilla/testing/short_sequences.h
//
// What the tests of sequence operators work on: three sequences of two, one and two rows.

#pragma once

#include "flotilla/testing/tensors.h"

namespace flotilla {

inline const LoD kLod = {{0, 2, 3, 5}};

inline Tensor rows() { return with_lod(tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}), kLod); }
inline Tensor numbers() { return with_lod(ints({2, 2, 6, 1, 3}, Shape{5, 1}), kLod); }
inline Tensor random_rows(const LoD& lod = kLod) {
  return with_lod(uniform({lod.back().back(), 2}, -1, 1), lod);
}

}  // namespace flotilla
