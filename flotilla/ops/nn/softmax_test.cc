// flotilla/ops/nn/softmax_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Softmax, KnownValues) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({0.0900, 0.2447, 0.6652}, 1e-4));
  EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({-2.40761, -1.40761, -0.40761}, 1e-5));
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1000, 1000})}}).at("Out"), near({0.5, 0.5}, 1e-6));
  // As in Paddle, whose numbers these are.
  for (const DType dtype : {f32, f64}) {
    EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1000, 0}, dtype)}}).at("Out"),
                near({0, -64}, 1e-5));
    const Tensor columns = converted(tensor({{0, 0}, {-70, -60}, {0, -100}}), dtype);
    EXPECT_THAT(run_op("log_softmax", {{"X", columns}}, {{"axis", 0}}).at("Out"),
                near({-std::log(2.0), 0, -std::log(2.0) - 64, -60, -std::log(2.0), -64}, 1e-4));
  }
}

// No element counts as more than 64 below the largest, whichever way the slices lie.
TEST(Softmax, IsNeverZero) {
  for (const DType dtype : {f32, f64}) {
    const Tensor rows = tensor({{0, 100, 70}, {0, 100, 100}}, dtype);
    std::vector<double> logarithms = values_of(run_op("softmax", {{"X", rows}}).at("Out"));
    for (double& p : logarithms) p = std::log(p);
    const double half = std::log(0.5);
    EXPECT_THAT(from_values(logarithms, {6}, f64),
                near({-64, 0, -30, -64 + half, half, half}, 1e-4));
    const Tensor columns = tensor({{0, 5}, {100, 5}}, dtype);
    EXPECT_GT(values_of(run_op("softmax", {{"X", columns}}, {{"axis", 0}}).at("Out"))[0], 1.6e-28);
  }
}

TEST(Softmax, AllKernelsAgreeOnEveryAxis) {
  for (const std::string type : {"softmax", "log_softmax"}) {
    for (const int axis : {-1, 0, 1, 2}) {
      check_op(
          {.type = type, .inputs = {{"X", uniform({3, 4, 5}, -4, 4)}}, .attrs = {{"axis", axis}}});
    }
  }
}

TEST(Softmax, RefusesAnAxisBeyondTheRank) {
  EXPECT_REFUSED(build_op("softmax", {{"X", uniform({2, 3}, 0, 1)}}, {{"axis", 2}}),
                 "axis must lie in [-2, 2) because X has shape [2, 3], but axis is 2");
}

}  // namespace
}  // namespace flotilla
