// flotilla/base/random_stream.h
//
// Random numbers by counter: the n-th number of a stream depends on (seed, offset, n) alone, so the
// result is the same on any number of threads and servers. Philox4x32-10 (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). And the distributions that are made of its words.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "flotilla/base/host_device.h"

namespace flotilla {

struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;

  // Four independent 32-bit numbers for the index.
  struct Words {
    uint32_t word[4];
  };
  FLT_FN Words words(uint64_t index) const;
  std::array<uint32_t, 4> at(uint64_t index) const;
  // Uniform in [0, 1), with 24 bits; in the open interval (0, 1) for `open`.
  static float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
  static float open_uniform(uint32_t bits) {
    return (static_cast<float>(bits >> 8) + 0.5f) * 0x1p-24f;
  }
};

FLT_FN RandomStream::Words RandomStream::words(uint64_t index) const {
  Words counter = {{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                    static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)}};
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter.word[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<uint32_t>(product0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// In the open interval (0, 1): a double is the float with more digits.
template <typename T>
T unit_number(uint32_t bits) {
  if constexpr (std::is_same_v<T, float>) return RandomStream::open_uniform(bits);
  return (static_cast<T>(bits) + T{0.5}) * T{0x1p-32};
}

// Two independent normal numbers (Box and Muller, 1958).
template <typename T>
std::array<T, 2> normal_pair(uint32_t first, uint32_t second) {
  const T radius = std::sqrt(T{-2} * std::log(unit_number<T>(first)));
  const T angle = T{2} * std::numbers::pi_v<T> * unit_number<T>(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// The normal number within two deviations whose place in their distribution is u, by the inverse of
// the error function for |x| < 0.9966 (Giles, "Approximating the erfinv function", 2010).
template <typename T>
T truncated_normal(T u) {
  const T reach = T{0.954499736103641585};  // erf(sqrt(2)): what lies within two deviations
  const T x = (T{2} * u - T{1}) * reach;
  const T w = -std::log((T{1} - x) * (T{1} + x)) - T{2.5};
  T p = T{2.81022636e-08};
  for (const double coefficient : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
    p = static_cast<T>(coefficient) + p * w;
  }
  return std::clamp(std::numbers::sqrt2_v<T> * p * x, T{-2}, T{2});
}

}  // namespace flotilla
