// flotilla/ops/nn/softmax_mask_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SoftmaxMask, KnownValues) {
  const Tensor x = tensor({1, 1, 2, 5}, {1, 2, 1, 2});
  const Tensor mask = tensor({0, -1e30}, {1, 1, 1, 2});
  EXPECT_THAT(run_op("fused_softmax_mask", {{"X", x}, {"Mask", mask}}).at("Out"),
              near(tensor({1, 0, 1, 0}, {1, 2, 1, 2}), 1e-6));
  const Tensor square = tensor({1, 9, 2, 2}, {1, 1, 2, 2});
  EXPECT_THAT(run_op("fused_softmax_mask_upper_triangle", {{"X", square}}).at("Out"),
              near(tensor({1, 0, 0.5, 0.5}, {1, 1, 2, 2}), 0));
}

TEST(SoftmaxMask, AllKernelsAgree) {
  check_op({.type = "fused_softmax_mask",
            .inputs = {{"X", uniform({2, 2, 2, 3}, -1, 1)}, {"Mask", uniform({2, 1, 2, 3}, -2, 1)}},
            .integers = false});
  check_op({.type = "fused_softmax_mask_upper_triangle",
            .inputs = {{"X", uniform({2, 2, 3, 3}, -1, 1)}},
            .integers = false});
}

TEST(SoftmaxMask, PaddleCallsTheResultSoftmaxInTheGradient) {
  const Tensor out = tensor({0.25, 0.75}, {1, 1, 1, 2}), dout = tensor({1, 0}, {1, 1, 1, 2});
  for (const char* slot : {"Out", "Softmax"}) {
    EXPECT_THAT(run_op("fused_softmax_mask_grad", {{slot, out}, {"Out@GRAD", dout}}).at("X@GRAD"),
                near(tensor({0.1875, -0.1875}, {1, 1, 1, 2}), 1e-6));
  }
}

TEST(SoftmaxMask, Refusals) {
  const Tensor x = full({2, 2, 2, 3}, 1);
  EXPECT_REFUSED(build_op("fused_softmax_mask", {{"X", x}, {"Mask", x}}),
                 "Mask must have the shape of X with one head, but they are [2, 2, 2, 3] and "
                 "[2, 2, 2, 3]");
  EXPECT_REFUSED(build_op("fused_softmax_mask_upper_triangle", {{"X", x}}),
                 "X must have as many rows as columns, but has shape [2, 2, 2, 3]");
  EXPECT_REFUSED(build_op("fused_softmax_mask_upper_triangle", {{"X", full({2, 2}, 1)}}),
                 "X must have four axes, but has shape [2, 2]");
}

}  // namespace
}  // namespace flotilla
