// flotilla/base/crc32c_test.cc

#include "flotilla/base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace flotilla {
namespace {

uint32_t of(std::string_view text) { return crc32c(0, text.data(), text.size()); }

// The values of RFC 3720, appendix B.4.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(of(""), 0u);
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = crc32c(0, text.data(), cut);
    EXPECT_EQ(crc32c(first, text.data() + cut, text.size() - cut), of(text)) << cut;
  }
}

// Long ones are cut into pieces that are worked on at the same time.
TEST(Crc32c, OfLongBytesIsThatOfShortOnesBehindEachOther) {
  std::string bytes(40'000, 0);
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const size_t size : {12'287u, 12'288u, 12'289u, 24'576u, 36'865u, 40'000u}) {
    uint32_t expected = 0;
    for (size_t at = 0; at < size; at += 100) {
      expected = crc32c(expected, bytes.data() + at, std::min<size_t>(100, size - at));
    }
    EXPECT_EQ(of(std::string_view(bytes).substr(0, size)), expected) << size;
    EXPECT_EQ(crc32c(crc32c(0, bytes.data(), 777), bytes.data() + 777, size - 777), expected);
  }
}

}  // namespace
}  // namespace flotilla
