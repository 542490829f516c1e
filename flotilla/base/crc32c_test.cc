// flotilla/base/crc32c_test.cc

#include "flotilla/base/crc32c.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace flotilla
