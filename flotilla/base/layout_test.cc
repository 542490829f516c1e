#include "flotilla/base/layout.h"

#include <gmock/gmock.h>

#include <set>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

TEST(Layout, TextAndLayoutAreInverse) {
  for (const char* text : {"plain", "acdb", "aBcd16b", "ABcd16b16a", "ABcd4b16a4b"}) {
    EXPECT_EQ(to_string(parse_layout(text)), text);
  }
  EXPECT_TRUE(parse_layout("abcd").plain());
  EXPECT_THROW(parse_layout("aacd"), Error);
}

TEST(Layout, PadsToWholeBlocks) {
  EXPECT_EQ(parse_layout("aBcd16b").padded({2, 20, 3, 3}), Shape({2, 32, 3, 3}));
  EXPECT_EQ(parse_layout("aBcd16b").physical_numel({2, 20, 3, 3}), 2 * 32 * 9);
}

TEST(Layout, EveryElementHasItsOwnPlace) {
  const Shape shape{3, 5, 2, 2};
  for (const char* text : {"plain", "acdb", "aBcd4b", "ABcd4b2a", "ABcd2b2a2b"}) {
    const Layout layout = parse_layout(text);
    std::set<int64_t> seen;
    for (int64_t a = 0; a < 3; ++a)
      for (int64_t b = 0; b < 5; ++b)
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t d = 0; d < 2; ++d) seen.insert(layout.offset(shape, {a, b, c, d}));
    EXPECT_EQ(seen.size(), 60u) << text;
    EXPECT_LT(*seen.rbegin(), layout.physical_numel(shape)) << text;
  }
  EXPECT_EQ(parse_layout("aBcd4b").offset(shape, {0, 1, 0, 0}), 1);
  EXPECT_EQ(parse_layout("acdb").offset(shape, {0, 0, 0, 1}), 5);
}

}  // namespace
}  // namespace flotilla
