// flotilla/device/cuda/sort.h
//
// A stable sort of numbers on a GPU, whose memory is known when a plan is made.

#pragma once

#include <cstdint>

#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// Sorts `count` numbers in [0, most]. Equal ones keep their order, so the result is the same each
// time.
class KeySort {
 public:
  // What lies in the workspace when all is done.
  struct Sorted {
    const int64_t* keys = nullptr;
    const int32_t* places = nullptr;  // where each of them stood
  };

  // Refuses more than 2^31 - 1 numbers.
  KeySort(int64_t count, int64_t most);
  int64_t workspace() const;  // bytes; it begins at a multiple of 8
  // Where the numbers must be written before run() is called.
  int64_t* keys(void* workspace) const;
  Sorted run(Stream stream, void* workspace) const;

 private:
  int64_t blocks() const;

  int64_t count_ = 0;
  int passes_ = 1;  // of eight bits each
};

}  // namespace flotilla::cuda
