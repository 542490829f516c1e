#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Increment, CountsInPlace) {
  EXPECT_THAT(run_op("increment", {{"X", ints({1})}}, {{"step", 2.0f}}).at("Out"),
              equal_to(ints({3})));
  EXPECT_THAT(run_op("increment", {{"X", tensor({1})}}, {}, {.in_place = {{"X", "Out"}}}).at("Out"),
              equal_to({2}));
}

}  // namespace
}  // namespace flotilla
