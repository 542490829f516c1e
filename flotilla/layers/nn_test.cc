#include "flotilla/layers/nn.h"

#include <gtest/gtest.h>

#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Nn = LayersTest;

TEST_F(Nn, DataDeclaresWhatIsFed) {
  const Variable x = data("x", {-1, 8});
  EXPECT_EQ(print(*x.operator->()), "var x f32[-1, 8] stop_gradient data check_feed");
  EXPECT_EQ(data("y", {1}, i64, {.append_batch_size = true}).shape(), (Shape{-1, 1}));
  EXPECT_EQ(data("z", {-1, 3}, f32, {.append_batch_size = true}).shape(), (Shape{-1, 3}));
  EXPECT_EQ(&static_cast<Var&>(data("x", {-1, 8})), &static_cast<Var&>(x));
  EXPECT_REFUSED(data("x", {-1, 9}),
                 "\"x\" is f32[-1, 8] already and cannot be declared as f32[-1, 9]");
}

TEST_F(Nn, FcMultipliesAddsAndActivates) {
  const Variable y = fc(data("x", {-1, 8}), 5, {.act = "relu"});
  EXPECT_EQ(y.shape(), (Shape{-1, 5}));
  EXPECT_EQ(ops(), text(R"(
    mul(X=x, Y=fc_0.w_0) -> fc_0.tmp_0 {x_num_col_dims=1, y_num_col_dims=1}
    elementwise_add(X=fc_0.tmp_0, Y=fc_0.b_0) -> fc_0.tmp_1 {axis=1}
    relu(X=fc_0.tmp_1) -> fc_0.tmp_2
  )"));
  EXPECT_EQ(startup_ops(), text(R"(
    uniform_random() -> fc_0.w_0 {dtype=5, max=0.67936623, min=-0.67936623, seed=0, shape=[8L, 5L]}
    fill_constant() -> fc_0.b_0 {dtype=5, shape=[5L], str_value="0", value=0.0}
  )"));
}

TEST_F(Nn, FcSumsSeveralInputs) {
  const Variable x = data("x", {-1, 2, 4}), y = data("y", {-1, 2, 3});
  fc({x, y}, 5, {.num_flatten_dims = 2, .bias = kNoBias, .name = "both"});
  EXPECT_EQ(ops(), text(R"(
    mul(X=x, Y=both.w_0) -> both.tmp_0 {x_num_col_dims=2, y_num_col_dims=1}
    mul(X=y, Y=both.w_1) -> both.tmp_1 {x_num_col_dims=2, y_num_col_dims=1}
    sum(X=[both.tmp_0, both.tmp_1]) -> both.tmp_2
  )"));
}

TEST_F(Nn, FcRefusesWhatItCannotFlatten) {
  EXPECT_REFUSED(fc(data("x", {-1, 8}), 5, {.num_flatten_dims = 2}),
                 "num_flatten_dims must lie in [1, 2) because \"x\" has shape [-1, 8], but is 2");
  EXPECT_REFUSED(fc(data("y", {-1, -1}), 5),
                 "the axes of \"y\" from 1 on must be known, but its shape is [-1, -1]");
}

TEST_F(Nn, ParametersAreSharedByName) {
  const Variable x = data("x", {-1, 4});
  fc(x, 3, {.weight = {.name = "w"}, .bias = kNoBias});
  fc(x, 3, {.weight = {.name = "w"}, .bias = kNoBias});
  EXPECT_EQ(main_->parameters().size(), 1u);
  EXPECT_EQ(startup_->global_block().size(), 1u);
  EXPECT_REFUSED(fc(x, 2, {.weight = {.name = "w"}}),
                 "parameter \"w\" is f32[4, 3] already and cannot be shared as f32[4, 2]");
}

TEST_F(Nn, BilinearTensorProductIsNamedTwice) {
  const Variable x = data("x", {-1, 3}), y = data("y", {-1, 2});
  EXPECT_EQ(bilinear_tensor_product(x, y, 4, {.act = "tanh"}).name(),
            "bilinear_tensor_product_0_0.tmp_1");
  EXPECT_EQ(main_->global_block().var("bilinear_tensor_product_0.w_0").shape, (Shape{4, 3, 2}));
  EXPECT_EQ(main_->global_block().var("bilinear_tensor_product_0.b_0").shape, (Shape{1, 4}));
  EXPECT_REFUSED(bilinear_tensor_product(x, data("z", {2, 3, 4}), 4),
                 "bilinear_tensor_product takes rows, but \"z\" is [2, 3, 4]");
}

TEST_F(Nn, PreluLearnsTheSlopeBelowZero) {
  const Variable x = data("x", {-1, 3, 4, 5}), last = data("last", {-1, 4, 5, 3});
  prelu(x, "all");
  prelu(x, "channel");
  prelu(last, "channel", {.data_format = "NHWC"});
  EXPECT_EQ(prelu(x, "element", {.alpha = {.name = "each"}, .name = "n"}).name(), "n.tmp_0");
  const Block& block = main_->global_block();
  EXPECT_EQ(block.var("prelu_0.w_0").shape, (Shape{1}));
  EXPECT_EQ(block.var("prelu_1.w_0").shape, (Shape{1, 3, 1, 1}));
  EXPECT_EQ(block.var("prelu_2.w_0").shape, (Shape{1, 1, 1, 3}));
  EXPECT_EQ(block.var("each").shape, (Shape{1, 3, 4, 5}));
  const Variable y = prelu(data("row", {1, 3}), "all");
  const std::vector<Feed> feeds = {
      {"row", tensor({{-4, 0, 4}})}, {"x", full({1, 3, 4, 5}, 0)}, {"last", full({1, 4, 5, 3}, 0)}};
  EXPECT_THAT(run(feeds, {y.name()})[0], near({-1, 0, 4}, 0));
  EXPECT_REFUSED(prelu(x, "each"), "mode must be all, channel or element, but is 'each'");
}

TEST_F(Nn, EmbeddingsOfBothErasLookUpRows) {
  const Variable ids = data("ids", {-1, 1}, i64);
  EXPECT_EQ(embedding(ids, 10, 4, {.is_sparse = true, .padding_idx = -1}).shape(),
            (Shape{-1, 1, 4}));
  EXPECT_EQ(embedding(ids, 10, 4, {.v1 = true}).shape(), (Shape{-1, 4}));
  EXPECT_EQ(sparse_embedding(ids, 10, 4).shape(), (Shape{-1, 4}));
  EXPECT_EQ(main_->global_block().op(0).attr<int64_t>("padding_idx"), 9);
  EXPECT_EQ(main_->global_block().op(1).attr<int64_t>("padding_idx"), -1);
  EXPECT_EQ(main_->global_block().op(2).type(), "lookup_table");
  EXPECT_TRUE(main_->global_block().op(2).attr<bool>("is_sparse"));
  EXPECT_REFUSED(embedding(ids, 10, 4, {.padding_idx = 10}),
                 "padding_idx must lie in [-10, 10) for 10 rows, but is 10");
}

TEST_F(Nn, DropoutIsOneOp) {
  const Variable x = data("x", {-1, 3});
  EXPECT_EQ(dropout(x, 0.5f).name(), "dropout_0.tmp_0");
  EXPECT_REFUSED(dropout(x, 2), "the probability of dropout must lie in [0, 1], but is 2");
}

}  // namespace
}  // namespace flotilla::layers
