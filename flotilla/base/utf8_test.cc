#include "flotilla/base/utf8.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

constexpr const char* kLost = "\xEF\xBF\xBD";

TEST(Utf8, LeavesTextAsItIs) {
  for (const std::string text : {"", "plain\t\x7f", "für", "批次", "😀"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
  EXPECT_EQ(valid_utf8(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Utf8, ReplacesWhatIsNotText) {
  const std::string lost = kLost;
  EXPECT_EQ(valid_utf8("f\xFCr"), "f" + lost + "r") << "Latin-1";
  EXPECT_EQ(valid_utf8("\xE6\x89"), lost + lost) << "cut inside a character";
  EXPECT_EQ(valid_utf8("\xB9\xE6\xAC\xA1"), lost + "次") << "that begins inside of one";
  EXPECT_EQ(valid_utf8("\xC0\xAF"), lost + lost) << "longer than needed";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), lost + lost + lost) << "half of a pair";
  EXPECT_EQ(valid_utf8("\xF5\x80\x80\x80!"), lost + lost + lost + lost + "!");
}

}  // namespace
}  // namespace flotilla
