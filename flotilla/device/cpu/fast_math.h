// flotilla/device/cpu/fast_math.h
//
// exp, log, tanh and sigmoid of floats without a branch or a call, so that a loop over them becomes
// vector code inside simd(). Right to 2.5 units in the last place or better over the whole range,
// denormal results included; infinities and NaN as in <cmath>. The polynomials are least-maximum
// fits made for this file.

#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace flotilla {

// 2^n as two factors, so that results may be denormal or overflow. REQUIRES: |n| <= 252
[[gnu::always_inline]] inline float scale_by_power(float x, int32_t n) {
  const int32_t half = n >> 1, rest = n - half;
  const auto power = [](int32_t e) {
    return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23);
  };
  return x * power(half) * power(rest);
}

// x = n ln2 + r with |r| <= ln2 / 2; exp(x) = 2^n (1 + r + r^2 P(r)).
[[gnu::always_inline]] inline float fast_exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves no room for a fraction
  constexpr float kLn2High = 0.693145751953125f, kLn2Low = 1.428606765330187e-06f;
  // Compared so that NaN stays NaN. Beyond these bounds the result is 0 or infinite anyway.
  float bounded = x > 90.0f ? 90.0f : x;
  bounded = bounded < -105.0f ? -105.0f : bounded;
  const float shifted = bounded * 1.44269504088896341f + kRound;
  const int32_t n = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float whole = shifted - kRound;
  const float r = bounded - whole * kLn2High - whole * kLn2Low;
  float p = 0.0013814596459269524f;
  p = p * r + 0.0083687175065279f;
  p = p * r + 0.04166838899254799f;
  p = p * r + 0.1666652113199234f;
  p = p * r + 0.4999999403953552f;
  // Of NaN, n is anything; masked, so that the power stays a number.
  return scale_by_power(p * (r * r) + r + 1.0f, n << 22 >> 22);
}

// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]; log(x) = n ln2 + f - f^2 / 2 + f^3 P(f).
[[gnu::always_inline]] inline float fast_log(float x) {
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool denormal = x < kLeastNormal;
  const uint32_t bits = std::bit_cast<uint32_t>(denormal ? x * 8388608.0f : x);
  // 0x3f3504f3 is sqrt(1/2): exponents count from there.
  const int32_t from_root = static_cast<int32_t>(bits - 0x3f3504f3u);
  const float n = static_cast<float>((from_root >> 23) - (denormal ? 23 : 0));
  const float f =
      std::bit_cast<float>((static_cast<uint32_t>(from_root) & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = -0.07634429633617401f;
  p = p * f + 0.12761549651622772f;
  p = p * f - 0.131601944565773f;
  p = p * f + 0.14201761782169342f;
  p = p * f - 0.16623356938362122f;
  p = p * f + 0.20001226663589478f;
  p = p * f - 0.250008225440979f;
  p = p * f + 0.3333333134651184f;
  const float square = f * f;
  const float small = square * f * p + n * 1.428606765330187e-06f - 0.5f * square;
  float y = n * 0.693145751953125f + (f + small);
  y = x == kInfinity ? kInfinity : y;
  y = x == 0.0f ? -kInfinity : y;
  return x >= 0.0f ? y : std::numeric_limits<float>::quiet_NaN();
}

// Near zero x + x^3 P(x^2); elsewhere, with e = exp(-2 |x|), 1 - 2 e / (1 + e) and the sign of x.
[[gnu::always_inline]] inline float fast_tanh(float x) {
  const float size = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu);
  const float e = fast_exp(-2.0f * size);
  const float far = 1.0f - 2.0f * e / (1.0f + e);
  const float u = size * size;
  float p = -0.006266701500862837f;
  p = p * u + 0.021066658198833466f;
  p = p * u - 0.0538511723279953f;
  p = p * u + 0.1333257555961609f;
  p = p * u - 0.33333316445350647f;
  const float near = size * u * p + size;
  return __builtin_copysignf(size < 0.55f ? near : far, x);
}

// With e = exp(-|x|): 1 / (1 + e) for x >= 0, else e / (1 + e), which keeps small results exact.
[[gnu::always_inline]] inline float fast_sigmoid(float x) {
  const float e = fast_exp(x > 0.0f ? -x : x);
  return (x > 0.0f ? 1.0f : e) / (1.0f + e);
}

}  // namespace flotilla
