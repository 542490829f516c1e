// flotilla/ops/math/atan2_test.cc

#include <cmath>
#include <numbers>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using std::numbers::pi;

TEST(Atan2, KnownValues) {
  const Tensor y = tensor({1, 1, -1, -1, 0, 0, 2, -2}), x = tensor({1, -1, -1, 1, 1, -1, 0, 0});
  EXPECT_THAT(run_op("atan2", {{"X1", y}, {"X2", x}}).at("Out"),
              near({pi / 4, 3 * pi / 4, -3 * pi / 4, -pi / 4, 0, pi, pi / 2, -pi / 2}, 1e-6));
  // The sign of a zero tells from which side it is reached.
  EXPECT_THAT(run_op("atan2", {{"X1", tensor({-0.0, 0.0})}, {"X2", tensor({-1, -0.0})}}).at("Out"),
              near({-pi, pi}, 1e-6));
}

TEST(Atan2, WholeNumbersGiveF64) {
  for (const DType dtype : {i32, i64}) {
    const Tensor angle =
        run_op("atan2", {{"X1", ints({1, -2, 0}, dtype)}, {"X2", ints({-2, -2, -1}, dtype)}})
            .at("Out");
    EXPECT_EQ(angle.dtype(), f64);
    EXPECT_THAT(angle, near({std::atan2(1.0, -2.0), -3 * pi / 4, pi}, 1e-15));
  }
}

TEST(Atan2, AllKernelsAgree) {
  // Rounded, none of them is a negative zero, which whole numbers do not have.
  check_op({.type = "atan2",
            .inputs = {{"X1", uniform({3, 4}, 0.6, 3)}, {"X2", uniform({3, 4}, -3, 3, 2)}}});
  check_op({.type = "atan2",
            .inputs = {{"X1", uniform({3, 4}, -3, -0.6)}, {"X2", uniform({3, 4}, -3, 3, 2)}}});
  // Either gradient alone.
  for (const char* slot : {"X1", "X2"}) {
    check_op({.type = "atan2",
              .inputs = {{"X1", uniform({7}, 1, 3)}, {"X2", uniform({7}, -3, 3, 2)}},
              .grad_inputs = {slot}});
  }
}

TEST(Atan2, Refusals) {
  const Tensor x = tensor({1, 2});
  EXPECT_REFUSED(build_op("atan2", {{"X1", x}, {"X2", full({2}, 0, f64)}}),
                 "X1 and X2 must have one dtype, but hold f32 and f64");
  EXPECT_REFUSED(build_op("atan2", {{"X1", x}, {"X2", tensor({1})}}),
                 "X1 and X2 must have one shape, but they are [2] and [1]");
}

}  // namespace
}  // namespace flotilla
