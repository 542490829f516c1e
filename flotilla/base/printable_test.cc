#include "flotilla/base/printable.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("worker 0  127.0.0.1  任务 é 🚢 \\x1b"),
            "worker 0  127.0.0.1  任务 é 🚢 \\x1b");
}

TEST(Printable, ControlCharactersAreShownByTheirNumbers) {
  EXPECT_EQ(printable("\x1b]0;owned\x07"), "\\x1b]0;owned\\x07");
  EXPECT_EQ(printable("a\r\nb\tc\x7f"), "a\\x0d\\x0ab\\x09c\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // the one-character form of ESC [
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gpj.exe"),
            "\\u202egpj.exe");
}

TEST(Printable, BytesThatAreNotTextAreShownByTheirNumbers) {
  EXPECT_EQ(printable("\xff\x9b"), "\\xff\\x9b");
  EXPECT_EQ(printable("\xe4\xbb"), "\\xe4\\xbb");                    // cut inside a character
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");                    // longer than needed
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");           // as above
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last
}

}  // namespace
}  // namespace flotilla
