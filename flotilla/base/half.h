// flotilla/base/half.h
//
// How 16-bit floats are computed with: loaded as floats, computed, and stored again.
//
//   y[i] = narrow<T>(f(widen(x[i])));   // for any T: other types stay as they are
//
// Storing rounds to the nearest, ties to the even one; beyond the largest number lies infinity, and
// between the least normal number and zero lie denormals. NaN stays NaN, with its sign. Loading is
// exact. There is no branch, so that loops become vector code.

#pragma once

#include <cstdint>
#include <type_traits>

#include "flotilla/base/dtype.h"
#include "flotilla/base/host_device.h"

namespace flotilla {

// The type in which elements of T are computed and summed up.
template <typename T>
inline constexpr bool is_short_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T>
using Compute = std::conditional_t<is_short_float<T>, float, T>;

FLT_FN float widen(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

// A Half is 1 bit of sign, 5 of exponent (from -15 on) and 10 of mantissa.
FLT_FN float widen(Half x) {
  const uint32_t sign = (x.bits & 0x8000u) << 16, size = x.bits & 0x7fffu;
  // 112 is how far the exponents of both types differ; infinity and NaN have the largest of each.
  const uint32_t normal = (size << 13) + (112u << 23), special = normal + (112u << 23);
  // The last digit of 0.5f is worth that of a denormal: 2^-24.
  const float denormal = __builtin_bit_cast(float, 0x3f000000u + size) - 0.5f;
  const uint32_t large = size < 0x7c00u ? normal : special;
  return __builtin_bit_cast(
      float, sign | (size < 0x0400u ? __builtin_bit_cast(uint32_t, denormal) : large));
}

template <typename T>
  requires(!is_short_float<T>)
FLT_FN T widen(T x) {
  return x;
}

FLT_FN BFloat16 to_bfloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {
      static_cast<uint16_t>((bits & 0x7fffffffu) <= 0x7f800000u ? rounded : (bits >> 16) | 0x40u)};
}

FLT_FN Half to_half(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  const uint32_t rounded = (size + 0xfffu + ((size >> 13) & 1u) - (112u << 23)) >> 13;
  const uint32_t normal = size < 0x47800000u ? rounded : 0x7c00u;  // 2^16 and more: infinity
  // Adding 0.5f leaves no room for digits below 2^-24.
  const float shifted = __builtin_bit_cast(float, size) + 0.5f;
  const uint32_t denormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  const uint32_t number = size < 0x38800000u ? denormal : normal;  // 2^-14: the least normal one
  const uint32_t nan = 0x7e00u | (size >> 13 & 0x3ffu);
  return {static_cast<uint16_t>(sign | (size <= 0x7f800000u ? number : nan))};
}

// What was computed as an element of T.
template <typename T, typename C>
FLT_FN T narrow(C x) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace flotilla
