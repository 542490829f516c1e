#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Dot, AllKernelsAgree) {
  check_op({.type = "dot", .inputs = {{"X", uniform({5}, -1, 1)}, {"Y", uniform({5}, -1, 1, 2)}}});
  check_op(
      {.type = "dot", .inputs = {{"X", uniform({3, 5}, -1, 1)}, {"Y", uniform({3, 5}, -1, 1, 2)}}});
  EXPECT_THAT(
      run_op("dot", {{"X", tensor({{1, 2}, {3, 4}})}, {"Y", tensor({{1, 1}, {2, 1}})}}).at("Out"),
      equal_to(tensor({3, 10})));
  EXPECT_REFUSED(build_op("dot", {{"X", tensor({1, 2})}, {"Y", tensor({1})}}),
                 "X and Y of dot must be alike, but are f32[2] and f32[1]");
}

}  // namespace
}  // namespace flotilla
