#include "flotilla/base/shape.h"

#include <gtest/gtest.h>

#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

constexpr int64_t kLarge = int64_t{1} << 62;

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape({2, 3}).numel(), 6);
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape({-1, kLarge, 8}).numel(), -1);
  EXPECT_EQ(Shape({kLarge, 8, 0}).numel(), 0);
  EXPECT_EQ(Shape({int64_t{1} << 40, int64_t{1} << 15}).numel(), int64_t{1} << 55);
}

TEST(Shape, RefusesMoreElementsThanCanBeCounted) {
  EXPECT_REFUSED(Shape({kLarge, 8}).numel(),
                 "a tensor can have 2^55 elements at most, but one of shape "
                 "[4611686018427387904, 8] has more");
  EXPECT_REFUSED(Shape({kLarge}).numel(),
                 "a tensor can have 2^55 elements at most, but one of shape "
                 "[4611686018427387904] has more");
}

}  // namespace
}  // namespace flotilla
