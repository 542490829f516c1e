// flotilla/kernel/random.h
//
// Where random operators draw from.

#pragma once

#include <atomic>
#include <cstdint>

#include "flotilla/base/random_stream.h"

namespace flotilla {

// The process-wide source of random streams (paddle.seed): every call of next() is a fresh stream.
// Executors of several threads may draw from one; it is seeded while none of them runs.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  void seed(uint64_t seed) {
    seed_ = seed;
    calls_ = 0;
  }
  uint64_t initial_seed() const { return seed_; }
  RandomStream next() { return {seed_, ++calls_}; }

 private:
  uint64_t seed_;
  std::atomic<uint64_t> calls_ = 0;
};

}  // namespace flotilla
