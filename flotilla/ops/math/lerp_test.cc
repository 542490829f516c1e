// flotilla/ops/math/lerp_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Lerp, KnownValues) {
  const Inputs inputs = {
      {"X", tensor({1, 2})}, {"Y", tensor({{3, 6}, {-1, 2}})}, {"Weight", tensor({0.25})}};
  EXPECT_THAT(run_op("lerp", inputs).at("Out"), near(tensor({{1.5, 3}, {0.5, 2}}), 1e-6));
}

TEST(Lerp, AllKernelsAgree) {
  const Tensor x = uniform({2, 3}, -1, 1), y = uniform({2, 3}, -1, 1, 2);
  check_op({.type = "lerp", .inputs = {{"X", x}, {"Y", y}, {"Weight", full({1}, 0.3)}}});
  check_op({.type = "lerp", .inputs = {{"X", x}, {"Y", y}, {"Weight", uniform({2, 3}, 0, 1, 3)}}});
  // Each is repeated along another axis.
  check_op({.type = "lerp",
            .inputs = {{"X", uniform({3, 1}, -1, 1)},
                       {"Y", uniform({4}, -1, 1, 2)},
                       {"Weight", uniform({2, 1, 1}, 0, 1, 3)}}});
}

TEST(Lerp, Refusals) {
  const Tensor x = full({2, 3}, 0);
  EXPECT_REFUSED(build_op("lerp", {{"X", x}, {"Y", x}, {"Weight", full({1}, 0, f64)}}),
                 "X and Weight must have one dtype, but hold f32 and f64");
  EXPECT_REFUSED(
      build_op("lerp", {{"X", x}, {"Y", full({2}, 0)}, {"Weight", x}}),
      "X of shape [2, 3] and Y of shape [2] do not broadcast at axis -1: 3 does not match 2");
}

}  // namespace
}  // namespace flotilla
