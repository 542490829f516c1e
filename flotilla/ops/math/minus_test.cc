#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Minus, AllKernelsAgree) {
  check_op({.type = "minus",
            .inputs = {{"X", uniform({2, 3}, -3, 3)}, {"Y", uniform({2, 3}, -3, 3, 2)}}});
  EXPECT_THAT(run_op("minus", {{"X", ints({5})}, {"Y", ints({7})}}).at("Out"),
              equal_to(ints({-2})));
  EXPECT_REFUSED(build_op("minus", {{"X", tensor({1, 2})}, {"Y", tensor({1})}}),
                 "X and Y must have one shape, but they are [2] and [1]");
}

}  // namespace
}  // namespace flotilla
