// flotilla/ops/nn/conv2d_transpose_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Ints = std::vector<int64_t>;

TEST(Conv2dTranspose, AllKernelsAgree) {
  const Tensor x = uniform({2, 4, 3, 2}, -1, 1);
  for (const Attrs& attrs : {Attrs{}, Attrs{{"strides", Ints{2, 1}}, {"paddings", Ints{1, 0}}},
                             Attrs{{"strides", Ints{2, 2}}, {"output_size", Ints{8, 6}}},
                             Attrs{{"strides", Ints{2, 3}}, {"output_padding", Ints{1, 2}}},
                             Attrs{{"dilations", Ints{2, 1}}, {"paddings", Ints{1, 0, 0, 1}}}}) {
    check_op({.type = "conv2d_transpose",
              .inputs = {{"Input", x}, {"Filter", uniform({4, 3, 3, 3}, -1, 1, 2)}},
              .attrs = attrs});
  }
  check_op({.type = "conv2d_transpose",
            .inputs = {{"Input", x}, {"Filter", uniform({4, 2, 2, 3}, -1, 1, 2)}},
            .attrs = {{"groups", 2}}});
  check_op({.type = "conv2d_transpose",
            .inputs = {{"Input", uniform({2, 3, 2, 4}, -1, 1)},
                       {"Filter", uniform({4, 2, 2, 3}, -1, 1, 2)}},
            .attrs = {{"data_format", "NHWC"}, {"strides", Ints{2, 2}}}});
}

TEST(Conv2dTranspose, Depthwise) {
  check_op({.type = "depthwise_conv2d_transpose",
            .inputs = {{"Input", uniform({2, 4, 3, 2}, -1, 1)},
                       {"Filter", uniform({4, 1, 3, 3}, -1, 1, 2)}},
            .attrs = {{"groups", 4}, {"strides", Ints{2, 2}}, {"paddings", Ints{1, 1}}}});
}

TEST(Conv2dTranspose, AddsTheFilterForEachElement) {
  const Tensor x = tensor({1, 10}, Shape{1, 1, 1, 2});
  const Tensor filter = tensor({1, 2, 3}, Shape{1, 1, 1, 3});
  EXPECT_THAT(run_op("conv2d_transpose", {{"Input", x}, {"Filter", filter}}).at("Output"),
              equal_to(tensor({1, 12, 23, 30}, Shape{1, 1, 1, 4})));
}

TEST(Conv2dTranspose, Refusals) {
  const Inputs inputs = {{"Input", full({2, 4, 3, 2}, 1)}, {"Filter", full({4, 3, 3, 3}, 1)}};
  EXPECT_REFUSED(
      build_op("conv2d_transpose", inputs, {{"strides", Ints{2, 2}}, {"output_size", Ints{9, 5}}}),
      "Output may have 7 to 8 elements along axis 2, but 9 are wanted");
  EXPECT_REFUSED(build_op("conv2d_transpose",
                          {{"Input", full({2, 3, 3, 2}, 1)}, {"Filter", full({4, 3, 3, 3}, 1)}}),
                 "Input of shape [2, 3, 3, 2] has 3 channels, but Filter of shape [4, 3, 3, 3] "
                 "takes 4");
  for (const char* name : {"strides", "dilations"}) {
    const std::string sentence = std::string(name) + " must be two numbers of at least 1, but are ";
    EXPECT_REFUSED(build_op("conv2d_transpose", inputs, {{name, Ints{2}}}), sentence + "2");
    EXPECT_REFUSED(build_op("conv2d_transpose", inputs, {{name, Ints{0, 1}}}), sentence + "0, 1");
  }
  EXPECT_REFUSED(build_op("conv2d_transpose", inputs, {{"output_size", Ints{7}}}),
                 "output_size must be two numbers of at least 1, but are 7");
}

}  // namespace
}  // namespace flotilla
