#include "flotilla/layers/norm.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Norm = LayersTest;

TEST_F(Norm, BatchNormKeepsStatisticsInParametersThatDoNotTrain) {
  const Variable y = batch_norm(data("x", {-1, 3, 8, 8}), {.act = "relu"});
  EXPECT_EQ(y.name(), "batch_norm_0.tmp_4");
  const Op& op = main_->global_block().op(0);
  EXPECT_EQ(op.output("Y"), "batch_norm_0.tmp_3");
  EXPECT_EQ(op.output("SavedMean"), "batch_norm_0.tmp_0");
  EXPECT_EQ(op.output("SavedVariance"), "batch_norm_0.tmp_1");
  EXPECT_EQ(op.output("ReserveSpace"), "batch_norm_0.tmp_2");
  EXPECT_EQ(op.input("Mean"), "batch_norm_0.w_1");
  EXPECT_EQ(op.output("VarianceOut"), "batch_norm_0.w_2");
  EXPECT_FALSE(main_->global_block().var("batch_norm_0.w_1").parameter->trainable);
  EXPECT_EQ(startup_ops(), text(R"(
    fill_constant() -> batch_norm_0.w_0 {dtype=5, shape=[3L], str_value="1", value=1.0}
    fill_constant() -> batch_norm_0.b_0 {dtype=5, shape=[3L], str_value="0", value=0.0}
    fill_constant() -> batch_norm_0.w_1 {dtype=5, shape=[3L], str_value="0", value=0.0}
    fill_constant() -> batch_norm_0.w_2 {dtype=5, shape=[3L], str_value="1", value=1.0}
  )"));
  batch_norm(data("z", {-1, 8, 8, 5}), {.moving_mean_name = "m", .data_layout = "NHWC"});
  EXPECT_EQ(main_->global_block().var("m").shape, (Shape{5}));
}

TEST_F(Norm, LayerNormScalesTheAxesItNormalises) {
  const Variable y = layer_norm(data("x", {-1, 3, 8}), {.begin_norm_axis = 2, .bias = kNoBias});
  EXPECT_EQ(y.name(), "layer_norm_0.tmp_2");
  EXPECT_EQ(main_->global_block().var("layer_norm_0.w_0").shape, (Shape{8}));
  EXPECT_FALSE(main_->global_block().op(0).has_input("Bias"));
}

TEST_F(Norm, BatchNormWithVariablesThatExist) {
  const Variable x = data("x", {-1, 3, 8, 8}), mean = data("m", {3}), variance = data("v", {3});
  const Variable y =
      batch_norm_with("sync_batch_norm", x, {.mean = mean, .variance = variance, .scale = mean},
                      {{"is_test", true}},
                      {.name = "n", .act = "relu", .outputs = {"SavedMean", "SavedVariance", "Y"}});
  EXPECT_EQ(y.name(), "n.tmp_3");
  const Op& op = main_->global_block().op(0);
  EXPECT_EQ(op.type(), "sync_batch_norm");
  EXPECT_EQ(op.output("Y"), "n.tmp_2");
  EXPECT_EQ(op.output("MeanOut"), "m");
  EXPECT_EQ(op.output("VarianceOut"), "v");
  EXPECT_FALSE(op.has_input("Bias"));
}

TEST_F(Norm, GroupNormLearnsWhatIsAskedFor) {
  const Variable x = data("x", {-1, 4, 8, 8});
  EXPECT_EQ(group_norm(x, 2).name(), "group_norm_0.tmp_0");
  EXPECT_TRUE(main_->parameters().empty());
  group_norm(data("last", {-1, 8, 8, 6}), 2,
             {.scale = ParamAttr{}, .act = "relu", .name = "n", .data_layout = "NHWC"});
  EXPECT_EQ(main_->global_block().var("n.w_0").shape, (Shape{6}));
  EXPECT_EQ(ops(), text(R"(
    group_norm(X=x) -> Mean=group_norm_0.tmp_1, Variance=group_norm_0.tmp_2, Y=group_norm_0.tmp_0 {data_layout="NCHW", epsilon=1e-05, groups=2}
    group_norm(Scale=n.w_0, X=last) -> Mean=n.tmp_1, Variance=n.tmp_2, Y=n.tmp_0 {data_layout="NHWC", epsilon=1e-05, groups=2}
    relu(X=n.tmp_0) -> n.tmp_3
  )"));
  EXPECT_REFUSED(group_norm(x, 2, {.bias = ParamAttr{}, .data_layout = "NCH"}),
                 "the data format must be NCHW or NHWC, but is NCH");
}

TEST_F(Norm, InstanceNormLearnsBothOrNothing) {
  const Variable x = data("x", {-1, 4, 8, 8});
  instance_norm(x, {.scale = ParamAttr{}});
  EXPECT_TRUE(main_->parameters().empty());
  EXPECT_EQ(instance_norm(x, {.scale = ParamAttr{}, .bias = ParamAttr{}}).name(),
            "instance_norm_1.tmp_0");
  EXPECT_EQ(startup_ops(), text(R"(
    fill_constant() -> instance_norm_1.w_0 {dtype=5, shape=[4L], str_value="1", value=1.0}
    fill_constant() -> instance_norm_1.b_0 {dtype=5, shape=[4L], str_value="0", value=0.0}
  )"));
}

TEST_F(Norm, DataNormKeepsSummaries) {
  const Variable x = data("x", {-1, 2});
  const Variable y = data_norm(x, {.batch_size = 4, .batch_sum = 8, .batch_square = 16});
  EXPECT_EQ(y.name(), "data_norm_0.tmp_0");
  EXPECT_EQ(startup_ops(), text(R"(
    fill_constant() -> dn.batch_size {dtype=5, shape=[2L], str_value="4", value=4.0}
    fill_constant() -> dn.batch_sum {dtype=5, shape=[2L], str_value="8", value=8.0}
    fill_constant() -> dn.batch_square_sum {dtype=5, shape=[2L], str_value="16", value=16.0}
  )"));
  // (x - 8 / 4) sqrt(4 / 16)
  EXPECT_THAT(run({{"x", tensor({{4, 0}, {2, 3}})}}, {y.name()})[0], near({1, -1, 0, .5}, 1e-6));
  data_norm(x, {.enable_scale_and_shift = true, .name = "mine"});
  EXPECT_EQ(main_->global_block().op(1).input("scale_w"), "mine.scale_w");
}

}  // namespace
}  // namespace flotilla::layers
