// flotilla/ops/nn/affine_channel_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(AffineChannel, KnownValues) {
  const Inputs inputs = {{"X", tensor({1, 2, 3, 4}, {1, 2, 1, 2})},
                         {"Scale", tensor({10, 100})},
                         {"Bias", tensor({1, 2})}};
  EXPECT_THAT(run_op("affine_channel", inputs).at("Out"),
              near(tensor({11, 21, 302, 402}, {1, 2, 1, 2}), 1e-5));
  EXPECT_THAT(run_op("affine_channel", inputs, {{"data_layout", "NHWC"}}).at("Out"),
              near(tensor({11, 202, 31, 402}, {1, 2, 1, 2}), 1e-5));
}

TEST(AffineChannel, AllKernelsAgree) {
  const Tensor scale = uniform({3}, -2, 2, 2), bias = uniform({3}, -2, 2, 3);
  check_op({.type = "affine_channel",
            .inputs = {{"X", uniform({2, 3, 2, 2}, -1, 1)}, {"Scale", scale}, {"Bias", bias}},
            .attrs = {{"data_layout", "NCHW"}}});
  check_op({.type = "affine_channel",
            .inputs = {{"X", uniform({2, 2, 2, 3}, -1, 1)}, {"Scale", scale}, {"Bias", bias}},
            .attrs = {{"data_layout", "NHWC"}}});
}

TEST(AffineChannel, Refusals) {
  const Tensor x = uniform({2, 3, 2, 2}, -1, 1), three = uniform({3}, -1, 1);
  EXPECT_REFUSED(
      build_op("affine_channel", {{"X", x}, {"Scale", uniform({2}, -1, 1)}, {"Bias", three}}),
      "Scale must hold a number for each of 3 channels, but has shape [2]");
  EXPECT_REFUSED(build_op("affine_channel", {{"X", x}, {"Scale", three}, {"Bias", three}},
                          {{"data_layout", "CHW"}}),
                 "a data format is NCHW or NHWC, but \"CHW\" was given");
}

}  // namespace
}  // namespace flotilla
