// flotilla/kernel/random.h
//
// Random numbers by counter: the n-th number of a stream depends on (seed, offset, n) alone, so the
// result is the same on any number of threads. Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).

#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace flotilla {

// Where a random operator draws from in one run.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;

  // Four independent 32-bit numbers for the index.
  std::array<uint32_t, 4> at(uint64_t index) const;
  // Uniform in [0, 1), with 24 bits; in the open interval (0, 1) for `open`.
  static float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
  static float open_uniform(uint32_t bits) {
    return (static_cast<float>(bits >> 8) + 0.5f) * 0x1p-24f;
  }
};

// The process' source of streams (paddle.seed): every call of next() is a fresh stream. Executors
// of several threads may draw from one; it is seeded while none of them runs.
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
