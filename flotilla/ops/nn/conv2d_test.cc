// flotilla/ops/nn/conv2d_test.cc

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/programs.h"

namespace flotilla {
namespace {

using Ints = std::vector<int32_t>;

TEST(Conv2d, KnownValues) {
  const Tensor image = tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3});
  const Tensor filter = tensor({1, 0, 0, -1}, {1, 1, 2, 2});
  const Inputs inputs = {{"Input", image}, {"Filter", filter}};
  EXPECT_THAT(run_op("conv2d", inputs).at("Output"),
              near(tensor({-4, -4, -4, -4}, {1, 1, 2, 2}), 1e-6));
  EXPECT_THAT(run_op("conv2d", inputs, {{"paddings", Ints{1, 0, 0, 1}}}).at("Output"),
              near(tensor({-2, -3, 0, -4, -4, 3, -4, -4, 6}, {1, 1, 3, 3}), 1e-6));
}

struct Case {
  Shape input = {2, 4, 7, 6};
  Shape filter = {6, 4, 3, 3};
  Attrs attrs = {};
};

// The geometries that convolutional nets use, through every kernel and its gradient.
TEST(Conv2d, AllKernelsAgree) {
  const std::vector<Case> cases = {
      {},
      {.attrs = {{"paddings", Ints{1, 1}}, {"strides", Ints{2, 2}}}},
      {.attrs = {{"paddings", Ints{0, 2}}, {"strides", Ints{2, 1}}}},
      {.attrs = {{"paddings", Ints{1, 0, 2, 1}}}},
      {.attrs = {{"paddings", Ints{2, 2}}, {"dilations", Ints{2, 2}}}},
      {.filter = {6, 2, 3, 3}, .attrs = {{"groups", 2}}},
      {.filter = {5, 4, 1, 1}, .attrs = {{"strides", Ints{2, 2}}}},
      {.attrs = {{"padding_algorithm", "SAME"}, {"strides", Ints{2, 2}}}},
      {.attrs = {{"padding_algorithm", "VALID"}, {"paddings", Ints{3, 3}}}},
      {.input = {2, 7, 6, 4}, .attrs = {{"data_format", "NHWC"}, {"paddings", Ints{1, 1}}}},
      {.input = {1, 3, 9, 9}, .filter = {16, 3, 5, 5}, .attrs = {{"strides", Ints{2, 2}}}},
      {.input = {2, 17, 5, 5}, .filter = {19, 17, 3, 3}, .attrs = {{"paddings", Ints{1, 1}}}},
      {.input = {1, 32, 4, 4}, .filter = {16, 32, 1, 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.input, c.filter));
    check_op(
        {.type = "conv2d",
         .inputs = {{"Input", uniform(c.input, -1, 1)}, {"Filter", uniform(c.filter, -1, 1, 2)}},
         .attrs = c.attrs});
  }
}

TEST(Conv2d, Depthwise) {
  for (const int64_t multiplier : {1, 2}) {
    check_op({.type = "depthwise_conv2d",
              .inputs = {{"Input", uniform({2, 4, 6, 5}, -1, 1)},
                         {"Filter", uniform({4 * multiplier, 1, 3, 3}, -1, 1, 2)}},
              .attrs = {{"groups", 4}, {"paddings", Ints{1, 1}}}});
  }
}

TEST(Conv2d, InfersWithAnUnknownBatch) {
  auto program = build(R"(
    var image f32[-1, 3, 224, 224] data
    var filter f32[64, 3, 7, 7] data
    conv2d(Input=image, Filter=filter) -> Output=out {strides=[2, 2], paddings=[3, 3]}
  )");
  EXPECT_EQ(program->global_block().var("out").shape, (Shape{-1, 64, 112, 112}));
}

TEST(Conv2d, Refusals) {
  const Tensor image = full({1, 3, 8, 8}, 1);
  EXPECT_REFUSED(build_op("conv2d", {{"Input", image}, {"Filter", full({4, 2, 3, 3}, 1)}}),
                 "Input has 3 channels, but Filter of shape [4, 2, 3, 3] and 1 group(s) take 2");
  EXPECT_REFUSED(build_op("conv2d", {{"Input", image}, {"Filter", full({4, 3, 9, 3}, 1)}}),
                 "a window of 9x3 does not fit into Input of shape [1, 3, 8, 8] with paddings 0,0 "
                 "and 0,0");
  EXPECT_REFUSED(
      build_op("conv2d", {{"Input", full({3, 8, 8}, 1)}, {"Filter", full({4, 3, 3, 3}, 1)}}),
      "Input must have rank 4, but has shape [3, 8, 8]");
  EXPECT_REFUSED(build_op("conv2d", {{"Input", image}, {"Filter", full({4, 3, 3, 3}, 1)}},
                          {{"paddings", Ints{1, 2, 3}}}),
                 "paddings must hold 2 or 4 numbers, but holds 3");
  EXPECT_REFUSED(build_op("conv2d", {{"Input", image}, {"Filter", full({4, 3, 3, 3}, 1)}},
                          {{"data_format", "CHWN"}}),
                 "a data format is NCHW or NHWC, but \"CHWN\" was given");
}

}  // namespace
}  // namespace flotilla
