#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Shape, KnownValues) {
  EXPECT_THAT(run_op("shape", {{"Input", full({2, 3}, 0)}}).at("Out"), equal_to(ints({2, 3}, i32)));
  EXPECT_THAT(run_op("size", {{"Input", full({2, 3}, 0)}}).at("Out"), equal_to(ints({6})));
  EXPECT_THAT(run_op("is_empty", {{"X", full({2, 3}, 0)}}).at("Out"), equal_to(bools({false})));
  EXPECT_THAT(run_op("is_empty", {{"X", full({2, 0}, 0)}}).at("Out"), equal_to(bools({true})));
}

}  // namespace
}  // namespace flotilla
