#include "flotilla/layers/functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/layers/indexing.h"
#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Functions = LayersTest;
using Operators = LayersTest;

TEST_F(Operators, NumbersBecomeOneScale) {
  const Variable x = data("x", {-1, 8});
  x + 1;
  1.5 - x;
  x - 2;
  x * 3;
  x / 2;
  -x;
  EXPECT_EQ(ops(), text(R"(
    scale(X=x) -> tmp_0 {bias=1.0, scale=1.0}
    scale(X=x) -> tmp_1 {bias=1.5, scale=-1.0}
    scale(X=x) -> tmp_2 {bias=-2.0, scale=1.0}
    scale(X=x) -> tmp_3 {bias=0.0, scale=3.0}
    scale(X=x) -> tmp_4 {bias=0.0, scale=0.5}
    scale(X=x) -> tmp_5 {bias=0.0, scale=-1.0}
  )"));
}

TEST_F(Operators, OtherOpsTakeAConstant) {
  const Variable x = data("x", {-1, 8});
  EXPECT_EQ((2 / x).shape(), (Shape{-1, 8}));
  binary("elementwise_pow", x, 2);
  EXPECT_EQ((x < 1).dtype(), boolean);
  EXPECT_EQ(ops(), text(R"(
    fill_constant() -> tmp_0 {dtype=5, shape=[1L], value=2.0}
    elementwise_div(X=tmp_0, Y=x) -> tmp_1 {axis=-1}
    fill_constant() -> tmp_2 {dtype=5, shape=[1L], value=2.0}
    elementwise_pow(X=x, Y=tmp_2) -> tmp_3 {axis=-1}
    fill_constant() -> tmp_4 {dtype=5, shape=[1L], value=1.0}
    less_than(X=x, Y=tmp_4) -> tmp_5 {axis=-1}
  )"));
}

TEST_F(Operators, WholeVariablesBecomeFloatsWhereTheResultIsNone) {
  const Variable i = data("i", {-1, 1}, i64);
  EXPECT_EQ((i * 2).dtype(), i64);
  EXPECT_EQ((i * 1.5).dtype(), f32);
  EXPECT_EQ((i / 2).dtype(), f32);
  EXPECT_EQ((i / i).dtype(), f32);
}

TEST_F(Operators, TheRightSideTakesTheLeftSidesDType) {
  const Variable x = data("x", {-1, 1}), d = data("d", {-1, 1}, f64), i = data("i", {-1, 1}, i64);
  EXPECT_EQ((x + i).dtype(), f32);
  EXPECT_EQ((i + x).dtype(), i64);
  EXPECT_EQ((x + d).dtype(), f64);
  EXPECT_REFUSED(binary("elementwise_add", 1, 2),
                 "elementwise_add needs a variable on at least one side, but both are numbers");
}

TEST_F(Operators, ComputeWhatTheySay) {
  const Variable x = data("x", {-1});
  const Variable y = (1 - x) * x / 2 + 2 / x - x * 3;
  EXPECT_THAT(run({{"x", tensor({1, 2})}}, {y.name()})[0], near({-1, -6}, 1e-6));
}

TEST_F(Functions, OpNamesItsOutputs) {
  const Variable x = data("x", {-1, 4});
  EXPECT_EQ(op("softmax", {{"X", x}}, {{"axis", -1}}, {.name = "p"}).name(), "p.tmp_0");
  EXPECT_EQ(op("relu", {{"X", x}}, {}, {.out = "exactly"}).name(), "exactly");
  EXPECT_EQ(op("relu", {{"X", x}}, {}, {.layer = "mine"}).name(), "mine_0.tmp_0");
  EXPECT_EQ(reshape(x, {-1, 2}, "relu").name(), "reshape2_0.tmp_2");
  const Variables top = op_outputs("top_k_v2", {{"X", x}}, {{"k", 2}});
  EXPECT_EQ(top.names(), (std::vector<std::string>{"top_k_v2_0.tmp_0", "top_k_v2_0.tmp_1"}));
  const Variables halves =
      op_outputs("split", {{"X", x}}, {{"axis", 1}, {"num", 2}}, {.outputs = {{"Out", 2}}});
  EXPECT_EQ(halves[1].shape(), (Shape{-1, 2}));
}

TEST_F(Functions, ARefusedOpLeavesNothingBehind) {
  const Variable x = data("x", {-1, 4});
  EXPECT_REFUSED(op("softmax", {{"X", x}}, {{"axs", -1}}),
                 "softmax has no attribute \"axs\". Did you mean \"axis\"?");
  EXPECT_EQ(main_->global_block().vars().size(), 1u);
  EXPECT_EQ(main_->global_block().size(), 0u);
}

TEST_F(Functions, ReducesSomeAxesOrAll) {
  const Variable x = data("x", {-1, 3, 4});
  EXPECT_EQ(mean(x).name(), "mean_0.tmp_0");
  EXPECT_EQ(mean(x).shape(), (Shape{1}));
  EXPECT_EQ(reduce("reduce_sum", x, {.axes = {-1}}).shape(), (Shape{-1, 3}));
  EXPECT_EQ(reduce("reduce_sum", x, {.axes = {1, 2}, .keep_dim = true}).shape(), (Shape{-1, 1, 1}));
}

TEST_F(Functions, FullTakesVariablesAsExtents) {
  const Variable x = data("x", {-1, 3});
  const Variable ones = full({index(shape(x), {at(0)}), 1}, 1.0);
  EXPECT_THAT(run({{"x", tensor({{1, 2, 3}, {4, 5, 6}})}}, {ones.name()})[0],
              equal_to(tensor({1, 1}, Shape{2, 1})));
}

TEST_F(Functions, LossesAreNamedAsPaddleNamesThem) {
  const Variable x = data("x", {-1, 4}), y = data("y", {-1, 1}, i64), soft = data("s", {-1, 4});
  EXPECT_EQ(cross_entropy(x, y).name(), "cross_entropy2_0.tmp_0");
  EXPECT_EQ(cross_entropy(x, soft, {.soft_label = true}).name(), "cross_entropy_0.tmp_0");
  const LossAndSoftmax both = softmax_with_cross_entropy(x, y);
  EXPECT_EQ(both.probabilities.name(), "softmax_with_cross_entropy_0.tmp_0");
  EXPECT_EQ(both.loss.name(), "softmax_with_cross_entropy_0.tmp_1");
  EXPECT_EQ(both.loss.shape(), (Shape{-1, 1}));
  EXPECT_EQ(square_error_cost(x, soft).name(), "square_error_cost_0.tmp_1");
}

TEST_F(Functions, AccuracyCountsHits) {
  const Variable x = data("x", {-1, 3}), y = data("y", {-1, 1}, i64);
  const Variable first = accuracy(x, y), either = accuracy(x, y, {.k = 2});
  EXPECT_EQ(first.name(), "accuracy_0.tmp_2");
  EXPECT_EQ(accuracy(x, y, {.top_k = "top_k"}).name(), "accuracy_2.tmp_0");
  const std::vector<Tensor> rates =
      run({{"x", tensor({{.1, .2, .7}, {.5, .3, .2}})}, {"y", ints({2, 1}, Shape{2, 1})}},
          {first.name(), either.name()});
  EXPECT_THAT(rates[0], near({0.5}, 0));
  EXPECT_THAT(rates[1], near({1}, 0));
}

TEST_F(Functions, AucKeepsCountsFromRunToRun) {
  const Variable x = data("x", {-1, 2}), y = data("y", {-1, 1}, i64);
  const Auc area = auc(x, y, {.num_thresholds = 16, .slide_steps = 2});
  EXPECT_EQ(area.auc.name(), "auc_0.tmp_0");
  EXPECT_EQ(area.batch_auc.name(), "auc_0.tmp_1");
  EXPECT_EQ(area.stats.names(), (std::vector<std::string>{"_generated_var_0", "_generated_var_1",
                                                          "_generated_var_2", "_generated_var_3"}));
  EXPECT_EQ(area.stats[0].shape(), (Shape{52}));
  EXPECT_EQ(area.stats[2].shape(), (Shape{1, 17}));
  const std::vector<Feed> right = {{"x", tensor({{.9, .1}, {.2, .8}})},
                                   {"y", ints({0, 1}, Shape{2, 1})}};
  const std::vector<Feed> wrong = {{"x", tensor({{.1, .9}, {.8, .2}})},
                                   {"y", ints({0, 1}, Shape{2, 1})}};
  EXPECT_THAT(run(right, {area.auc.name()})[0], near({1}, 1e-9));
  EXPECT_THAT(run(wrong, {area.auc.name()})[0], near({0.5}, 1e-9));
  run(wrong, {});
  EXPECT_THAT(run(wrong, {area.batch_auc.name()})[0], near({0}, 1e-9));
}

TEST_F(Functions, AucLooksBackOnAllBatchesWithoutAWindow) {
  const Variable x = data("x", {-1, 2}), y = data("y", {-1, 1}, i64);
  const Auc area = auc(x, y, {.num_thresholds = 16, .slide_steps = 0});
  EXPECT_EQ(area.stats[0].shape(), (Shape{1, 17}));
  const std::vector<Feed> batch = {{"x", tensor({{.9, .1}, {.2, .8}})},
                                   {"y", ints({0, 1}, Shape{2, 1})}};
  EXPECT_THAT(run(batch, {area.batch_auc.name()})[0], near({1}, 1e-9));
}

TEST_F(Functions, ContinuousValuesBecomeLogarithms) {
  const Variable x = data("x", {-1, 4});
  const Variable y = continuous_value_model(x), cut = continuous_value_model(x, false);
  const std::vector<Tensor> made = run({{"x", tensor({{3, 1, 5, 6}})}}, {y.name(), cut.name()});
  EXPECT_THAT(made[0], near({std::log(4), std::log(2) - std::log(4), 5, 6}, 1e-6));
  EXPECT_THAT(made[1], near({5, 6}, 0));
}

}  // namespace
}  // namespace flotilla::layers
