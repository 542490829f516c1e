#include "flotilla/layers/conv.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Conv = LayersTest;

TEST_F(Conv, Conv2dAddsItsBiasToChannels) {
  const Variable y = conv2d(data("x", {-1, 3, 8, 8}), 6, 3,
                            {.stride = 2, .padding = {1, 2}, .groups = 3, .act = "relu"});
  EXPECT_EQ(y.shape(), (Shape{-1, 6, 4, 5}));
  EXPECT_EQ(main_->global_block().var("conv2d_0.w_0").shape, (Shape{6, 1, 3, 3}));
  const Op& conv = main_->global_block().op(0);
  EXPECT_EQ(conv.attr<std::vector<int64_t>>("paddings"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(conv.attr<std::vector<int64_t>>("strides"), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(print(main_->global_block().op(1)),
            "elementwise_add(X=conv2d_0.tmp_0, Y=conv2d_0.b_0) -> conv2d_0.tmp_1 {axis=1}");
  // The spread follows from all input channels, groups or not: sqrt(2 / (3 * 3 * 3)).
  EXPECT_FLOAT_EQ(startup_->global_block().op(0).attr<float>("std"), 0.27216554f);
  EXPECT_REFUSED(conv2d(data("odd", {-1, 3, 8, 8}), 4, 3, {.groups = 3}),
                 "3 channels and 4 filters must be multiples of groups, but that is 3");
}

TEST_F(Conv, DepthwiseFiltersGiveTheLayerItsName) {
  const Variable x = data("x", {-1, 3, 8, 8});
  EXPECT_EQ(conv2d(x, 6, 3, {.groups = 3, .bias = kNoBias, .use_cudnn = false}).name(),
            "depthwise_conv2d_0.tmp_0");
  EXPECT_EQ(main_->global_block().op(0).type(), "conv2d");
  EXPECT_EQ(conv2d(x, 6, 3, {.bias = kNoBias, .use_cudnn = false}).name(), "conv2d_0.tmp_0");
}

TEST_F(Conv, TransposedFiltersFollowFromTheSizeOfTheResult) {
  const Variable x = data("x", {-1, 4, 5, 6});
  const Variable y = conv2d_transpose(
      x, 4, {.output_size = Extents{10, 12}, .stride = 2, .padding = 1, .act = "relu"});
  EXPECT_EQ(y.shape(), (Shape{-1, 4, 10, 12}));
  EXPECT_EQ(y.name(), "relu_0.tmp_0");
  EXPECT_EQ(main_->global_block().var("conv2d_transpose_0.w_0").shape, (Shape{4, 4, 4, 4}));
  EXPECT_EQ(conv2d_transpose(x, 4, {.filter_size = 3, .groups = 2, .bias = kNoBias}).shape(),
            (Shape{-1, 4, 7, 8}));
  EXPECT_EQ(main_->global_block().var("conv2d_transpose_1.w_0").shape, (Shape{4, 2, 3, 3}));
  EXPECT_REFUSED(conv2d_transpose(x, 4, {}), "conv2d_transpose needs filter_size or output_size");
  EXPECT_REFUSED(conv2d_transpose(x, 4, {.output_size = 3}),
                 "no filter makes images of [3, 3] out of \"x\" of shape [-1, 4, 5, 6]");
  EXPECT_REFUSED(conv2d_transpose(x, 4, {.filter_size = 3, .groups = 3}),
                 "4 filters must be a multiple of groups, but that is 3");
}

TEST_F(Conv, FiltersThatExist) {
  const Variable x = data("x", {-1, 2, 4, 4}), filter = data("f", {2, 1, 3, 3}),
                 bias = data("b", {2});
  EXPECT_EQ(conv2d_with(x, filter, bias, {.padding = {1, 1, 0, 2}, .groups = 2}).shape(),
            (Shape{-1, 2, 4, 4}));
  EXPECT_EQ(main_->global_block().op(0).type(), "depthwise_conv2d");
  EXPECT_EQ(main_->global_block().op(0).attr<std::vector<int64_t>>("paddings"),
            (std::vector<int64_t>{1, 1, 0, 2}));
  EXPECT_EQ(conv2d_transpose_with(x, filter, {}, {.stride = 2, .output_padding = 1}).shape(),
            (Shape{-1, 1, 10, 10}));
}

TEST_F(Conv, FiltersOverSequences) {
  const Variable x = data("x", {-1, 1, 4}), filter = data("f", {1, 1, 2});
  const Variable y = conv1d_with(x, filter, {}, {.padding = {1, 0}});
  EXPECT_EQ(y.name(), "squeeze_0.tmp_0");
  EXPECT_EQ(y.shape(), (Shape{-1, 1, 4}));
  const std::vector<Feed> feeds = {{"x", tensor({1, 2, 3, 4}, Shape{1, 1, 4})},
                                   {"f", tensor({1, 10}, Shape{1, 1, 2})}};
  EXPECT_THAT(run(feeds, {y.name()})[0], near({10, 21, 32, 43}, 1e-5));
  const Variable last = data("last", {-1, 4, 1});
  EXPECT_EQ(conv1d_with(last, filter, {}, {.data_format = "NLC"}).shape(), (Shape{-1, 3, 1}));
}

TEST_F(Conv, PoolsAreOneOp) {
  const Variable x = data("x", {-1, 3, 8, 8});
  EXPECT_EQ(pool2d(x, {.size = 2, .stride = 2}).shape(), (Shape{-1, 3, 4, 4}));
  EXPECT_EQ(pool2d(x, {.type = "avg", .global_pooling = true}).shape(), (Shape{-1, 3, 1, 1}));
  EXPECT_REFUSED(pool2d(x),
                 "a pool needs a positive size unless it is global, but its size is "
                 "[-1, -1]");
}

}  // namespace
}  // namespace flotilla::layers
