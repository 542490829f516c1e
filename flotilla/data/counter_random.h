// flotilla/data/counter_random.h
//
// Random numbers for generated sets: the n-th number of sample `index` needs none of those before
// it, so sample i is the same however many are made, in whatever order, on every machine.
//
// The mixing function is SplitMix64's (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014, doi 10.1145/2660193.2660195).

#pragma once

#include <cstdint>
#include <span>

namespace flotilla::data {

inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class CounterRandom {
 public:
  // Samples that differ in any of the three are independent.
  CounterRandom(uint64_t seed, uint64_t stream, int64_t index)
      : key_(mix_bits(mix_bits(mix_bits(seed + kStep) + stream + 1) +
                      kStep * static_cast<uint64_t>(index))) {}

  uint64_t bits() { return mix_bits(key_ + kStep * ++drawn_); }

  // Uniform in [0, n).
  int below(int n) { return static_cast<int>((bits() >> 32) * static_cast<uint64_t>(n) >> 32); }

  // Uniform in [low, high].
  int between(int low, int high) { return low + below(high - low + 1); }

  // True `percent` times in a hundred.
  bool chance(int percent) { return below(100) < percent; }

  // Uniform in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

  // In (-reach, reach), near 0 most often: the mean of three uniform numbers.
  double bell(double reach) {
    return (uniform(-reach, reach) + uniform(-reach, reach) + uniform(-reach, reach)) / 3;
  }

  // The same for whole numbers.
  int bell_whole(int reach) {
    return (between(-reach, reach) + between(-reach, reach) + between(-reach, reach)) / 3;
  }

  template <typename T>
  const T& choose(std::span<const T> values) {
    return values[static_cast<size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

  uint64_t key_;
  uint64_t drawn_ = 0;
};

}  // namespace flotilla::data
