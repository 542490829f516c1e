#include "flotilla/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace flotilla {
namespace {

// A 16-bit float by its definition: digits of mantissa, and the exponent of the least normal one.
struct Format {
  int mantissa = 0;
  int exponents = 0;  // bits
  int least = 0;      // exponent of the least normal number
};
constexpr Format kHalf = {10, 5, -14};
constexpr Format kBFloat16 = {7, 8, -126};

double value_of(Format format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa) - 1);
  const uint32_t top = (1u << format.exponents) - 1, exponent = bits >> format.mantissa & top;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == top) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const int scale = format.least - format.mantissa + std::max(static_cast<int>(exponent) - 1, 0);
  const double whole = mantissa + (exponent == 0 ? 0 : std::ldexp(1.0, format.mantissa));
  return sign * std::ldexp(whole, scale);
}

// The nearest number of the format, found in whole digits of double: the last digit that `x` may
// have is worth 2^scale, and nearbyint takes ties to the even one.
double nearest(Format format, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int scale = std::max(std::ilogb(x), format.least) - format.mantissa;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -scale)), scale);
  const double most = std::ldexp(1.0, (1 << (format.exponents - 1)));
  return std::abs(rounded) < most ? rounded
                                  : std::copysign(std::numeric_limits<double>::infinity(), x);
}

template <typename T>
void check_all_values(Format format) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const T x = {static_cast<uint16_t>(bits)};
    const float wide = widen(x);
    const double expected = value_of(format, bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(widen(narrow<T>(wide)))) << bits;
      ASSERT_EQ(std::signbit(wide), bits >> 15 != 0) << bits;
      ASSERT_EQ(narrow<T>(wide).bits >> 15, bits >> 15) << bits;
      continue;
    }
    ASSERT_EQ(wide, expected) << bits;
    ASSERT_EQ(std::signbit(wide), bits >> 15 != 0) << bits;
    ASSERT_EQ(narrow<T>(wide).bits, bits) << bits;
  }
}

TEST(Half, EveryValueIsLoadedAndStored) { check_all_values<Half>(kHalf); }
TEST(BFloat16, EveryValueIsLoadedAndStored) { check_all_values<BFloat16>(kBFloat16); }

// Around each value, around the middle to its neighbour, and one digit of float beside both.
template <typename T>
void check_rounding(Format format) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float here = static_cast<float>(value_of(format, bits));
    if (std::isnan(here)) continue;
    const auto next =
        static_cast<float>(value_of(format, (bits & 0x7fff) == 0x7fff ? 0 : bits + 1));
    const float middle = std::isfinite(here) && std::isfinite(next)
                             ? static_cast<float>((static_cast<double>(here) + next) / 2)
                             : here;
    for (const float near : {here, middle}) {
      for (const float toward : {-HUGE_VALF, near, HUGE_VALF}) {
        const float x = std::nextafter(near, toward);
        const float found = widen(narrow<T>(x));
        ASSERT_EQ(found, nearest(format, x)) << bits << ": " << x;
        ASSERT_EQ(std::signbit(found), std::signbit(x)) << bits << ": " << x;
      }
    }
  }
}

TEST(Half, RoundsToTheNearest) { check_rounding<Half>(kHalf); }
TEST(BFloat16, RoundsToTheNearest) { check_rounding<BFloat16>(kBFloat16); }

// Every exponent of float with mantissas all over its range: what is too large, too small, and
// what would be rounded twice if it went through a digit more.
template <typename T>
void check_floats(Format format) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65521) {
    for (const uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
      const float x = std::bit_cast<float>((static_cast<uint32_t>(bits) & 0xffff0000u) | low);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(widen(narrow<T>(x))));
      } else {
        ASSERT_EQ(widen(narrow<T>(x)), nearest(format, x)) << x;
      }
    }
  }
}

TEST(Half, TakesAnyFloat) { check_floats<Half>(kHalf); }
TEST(BFloat16, TakesAnyFloat) { check_floats<BFloat16>(kBFloat16); }

TEST(Half, KnownBits) {
  EXPECT_EQ(to_half(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_half(-2.0f).bits, 0xc000);
  EXPECT_EQ(to_half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(65519.99f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(to_half(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(to_half(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(3.0e38f).bits, 0x7f62);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(Half, OtherTypesStayAsTheyAre) {
  static_assert(std::is_same_v<Compute<Half>, float> && std::is_same_v<Compute<BFloat16>, float>);
  static_assert(std::is_same_v<Compute<double>, double> && std::is_same_v<Compute<bool>, bool>);
  EXPECT_EQ(widen(int64_t{7}), 7);
  EXPECT_EQ(narrow<double>(0.1), 0.1);
}

}  // namespace
}  // namespace flotilla
