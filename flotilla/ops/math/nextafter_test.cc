#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(NextAfter, KnownValues) {
  const Tensor near_one =
      run_op("nextafter", {{"x", tensor({1, 1, 2})}, {"y", tensor({3, -3, 2})}}).at("out");
  EXPECT_THAT(near_one, equal_to({std::nextafter(1.f, 3.f), std::nextafter(1.f, -3.f), 2}));
  EXPECT_TRUE(std::isnan(
      values_of(run_op("nextafter", {{"x", tensor({2})}, {"y", tensor({NAN})}}).at("out"))[0]));
}

TEST(NextAfter, AllKernelsAgree) {
  check_op({.type = "nextafter",
            .inputs = {{"x", uniform({3, 4}, -1, 1)}, {"y", uniform({3, 4}, -1, 1, 2)}}});
}

TEST(NextAfter, Refusals) {
  EXPECT_REFUSED(build_op("nextafter", {{"x", tensor({1, 2})}, {"y", tensor({3})}}),
                 "x and y must have one shape, but they are [2] and [1]");
  EXPECT_REFUSED(build_op("nextafter", {{"x", tensor({1})}, {"y", full({1}, 0, f64)}}),
                 "x and y must have one dtype, but hold f32 and f64");
}

}  // namespace
}  // namespace flotilla
