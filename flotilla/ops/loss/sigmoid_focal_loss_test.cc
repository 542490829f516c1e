// flotilla/ops/loss/sigmoid_focal_loss_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SigmoidFocalLoss, KnownValues) {
  const Inputs inputs = {{"X", tensor({{0.5, -1}, {2, 0}, {3, 3}})},
                         {"Label", ints({2, 0, -1}, Shape{3, 1}, i32)},
                         {"FgNum", ints({4}, i32)}};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto right = [&](double x) {
    return -0.25 * std::pow(1 - sigmoid(x), 2) * std::log(sigmoid(x)) / 4;
  };
  const auto other = [&](double x) {
    return -0.75 * std::pow(sigmoid(x), 2) * std::log(1 - sigmoid(x)) / 4;
  };
  EXPECT_THAT(run_op("sigmoid_focal_loss", inputs).at("Out"),
              near(tensor({{other(0.5), right(-1)}, {other(2), other(0)}, {0, 0}}), 1e-6));
}

TEST(SigmoidFocalLoss, LargeLogitsStayFinite) {
  const Inputs inputs = {{"X", tensor({{200, -200}})},
                         {"Label", ints({2}, Shape{1, 1}, i32)},
                         {"FgNum", ints({0}, i32)}};
  EXPECT_THAT(run_op("sigmoid_focal_loss", inputs).at("Out"), near({150, 50}, 1e-4));
}

TEST(SigmoidFocalLoss, AllKernelsAgree) {
  const Inputs inputs = {{"X", uniform({4, 3}, -2, 2)},
                         {"Label", ints({2, 0, -1, 3}, Shape{4, 1}, i32)},
                         {"FgNum", ints({2}, i32)}};
  check_op({.type = "sigmoid_focal_loss", .inputs = inputs});
  check_op({.type = "sigmoid_focal_loss",
            .inputs = inputs,
            .attrs = {{"gamma", 1.5f}, {"alpha", 0.4f}}});
}

TEST(SigmoidFocalLoss, Refusals) {
  Inputs inputs = {
      {"X", full({4, 3}, 0)}, {"Label", ints({2, 0}, Shape{2, 1}, i32)}, {"FgNum", ints({2}, i32)}};
  EXPECT_REFUSED(build_op("sigmoid_focal_loss", inputs),
                 "Label must have shape [4, 1], but has [2, 1]");
  inputs["Label"] = full({4, 1}, 0);
  EXPECT_REFUSED(build_op("sigmoid_focal_loss", inputs),
                 "Label must hold i64 or i32, but holds f32");
}

}  // namespace
}  // namespace flotilla
