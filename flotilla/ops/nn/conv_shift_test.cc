// flotilla/ops/nn/conv_shift_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// Values of Paddle 1.8.
TEST(ConvShift, KnownValues) {
  const Tensor x = tensor({1, 2, 3, 4}, {1, 4}), y = tensor({1, 10, 100}, {1, 3});
  EXPECT_THAT(run_op("conv_shift", {{"X", x}, {"Y", y}}).at("Out"),
              near(tensor({214, 321, 432, 143}, {1, 4}), 0));
}

TEST(ConvShift, AllKernelsAgree) {
  check_op({.type = "conv_shift",
            .inputs = {{"X", uniform({3, 5}, -1, 1)}, {"Y", uniform({3, 3}, -1, 1, 2)}}});
}

TEST(ConvShift, Refusals) {
  const Tensor x = full({2, 3}, 1);
  EXPECT_REFUSED(build_op("conv_shift", {{"X", x}, {"Y", full({2, 2}, 1)}}),
                 "the columns of Y must be odd and no more than 3, but are 2");
  EXPECT_REFUSED(build_op("conv_shift", {{"X", x}, {"Y", full({3, 3}, 1)}}),
                 "X and Y must be matrices of as many rows, but have shapes [2, 3] and [3, 3]");
}

}  // namespace
}  // namespace flotilla
