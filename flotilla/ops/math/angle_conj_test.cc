#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(RealParts, Angle) {
  const Tensor x = tensor({1, -2, 0, -0.0, NAN, -INFINITY});
  EXPECT_THAT(run_op("angle", {{"X", x}}).at("Out"),
              near({0, 3.1415927, 0, 0, 0, 3.1415927}, 1e-6));
  check_op({.type = "angle", .inputs = {{"X", uniform({3, 4}, 0.1, 1)}}});
  check_op({.type = "angle", .inputs = {{"X", uniform({3, 4}, -1, -0.1)}}, .tolerance = 1e-6});
}

TEST(RealParts, Conj) {
  EXPECT_THAT(run_op("conj", {{"X", tensor({1, -2})}}).at("Out"), equal_to({1, -2}));
  check_op({.type = "conj", .inputs = {{"X", uniform({3, 4}, -1, 1)}}});
}

}  // namespace
}  // namespace flotilla
