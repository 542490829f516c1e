// flotilla/data/number.h
//
// Numbers in text, read without locale, copy or allocation. Each function reads from `p` as far as
// the number goes, never beyond `end`, and returns where it stopped, or null where there is no
// number or none that fits.

#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace flotilla::data {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// A whole number from -2^63 to 2^64 - 1; what lies above 2^63 - 1 wraps, since ids are bits.
inline const char* read_i64(const char* p, const char* end, int64_t& out) {
  const bool negative = p != end && *p == '-';
  const char* const digits = p + negative;
  uint64_t value = 0;
  const char* q = digits;
  // 19 digits always fit.
  const char* const safe = end - digits > 19 ? digits + 19 : end;
  for (; q < safe && is_digit(*q); ++q) value = value * 10 + static_cast<uint64_t>(*q - '0');
  if (q == digits) return nullptr;
  if (q != end && is_digit(*q)) {
    const auto parsed = std::from_chars(digits, end, value);
    if (parsed.ec != std::errc()) return nullptr;
    q = parsed.ptr;
  }
  if (negative && value > uint64_t{1} << 63) return nullptr;
  out = static_cast<int64_t>(negative ? 0 - value : value);
  return q;
}

// std::from_chars, which refuses numbers too small for a float; those are zero here.
const char* read_f32_exactly(const char* p, const char* end, float& out);

// Appends the digits at `q` to `mantissa`, and moves q behind them.
inline void read_digits(const char*& q, const char* end, uint64_t& mantissa) {
  for (; q != end && is_digit(*q); ++q) mantissa = mantissa * 10 + static_cast<uint64_t>(*q - '0');
}

// Reads "e-05" where it stands at `q`; false: there is an e without a number, or a large one.
inline bool read_exponent(const char*& q, const char* end, int64_t& exponent) {
  if (q == end || (*q != 'e' && *q != 'E')) return true;
  ++q;
  const bool negative = q != end && *q == '-';
  q += negative || (q != end && *q == '+');
  const char* const digits = q;
  uint64_t value = 0;
  read_digits(q, end, value);
  if (q == digits || q - digits > 3) return false;
  exponent = static_cast<int64_t>(negative ? 0 - value : value);
  return true;
}

// The float nearest to a decimal number, as strtof finds it; also inf and nan.
inline const char* read_f32(const char* p, const char* end, float& out) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* q = p;
  const bool negative = q != end && *q == '-';
  q += negative;
  uint64_t mantissa = 0;
  const char* const whole = q;
  while (q != end && *q == '0') ++q;
  const char* digits = q;
  read_digits(q, end, mantissa);
  int64_t count = q - digits, fraction = 0;  // digits that matter; digits behind the point
  bool any = q != whole;
  if (q != end && *q == '.') {
    const char* const point = ++q;
    while (count == 0 && q != end && *q == '0') ++q;
    digits = q;
    read_digits(q, end, mantissa);
    count += q - digits;
    fraction = q - point;
    any = any || fraction > 0;
  }
  int64_t exponent = 0;
  const bool good = read_exponent(q, end, exponent);
  const int64_t scale = fraction - exponent;
  // 19 digits always fit.
  if (!good || !any || count > 19 || scale > 22 || scale < -22) {
    return read_f32_exactly(p, end, out);
  }
  // Powers up to 10^22 are exact, so two roundings at most make `value` wrong by two units of its
  // last place. The float nearest to it is then the float nearest to the number, unless it lies
  // that close to the middle between two floats, or beyond the largest.
  const auto wide = static_cast<double>(mantissa);
  const double value = scale >= 0 ? wide / kPowers[scale] : wide * kPowers[-scale];
  const uint64_t beyond_float = std::bit_cast<uint64_t>(value) & 0x1fffffff;
  if (beyond_float - (0x10000000 - 4) <= 8 || value > std::numeric_limits<float>::max()) {
    return read_f32_exactly(p, end, out);
  }
  out = static_cast<float>(negative ? -value : value);
  return q;
}

}  // namespace flotilla::data
