#include "flotilla/layers/sampled.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class Sampled : public LayersTest {
 protected:
  const Variable x_ = data("x", {-1, 3}), label_ = data("label", {-1, 1}, i64);

  const Op& op_of(std::string_view type) const {
    for (const auto& op : main_->global_block().ops()) {
      if (op->type() == type) return *op;
    }
    refuse("there is no {}", type);
  }
};

TEST_F(Sampled, NceDividesByWhatItLooksAt) {
  const Variable cost = nce(x_, label_, 20, {.num_neg_samples = 4, .sampler = "log_uniform"});
  EXPECT_EQ(cost.shape(), (Shape{-1, 1}));
  EXPECT_EQ(main_->global_block().var("nce_0.w_0").shape, (Shape{20, 3}));
  EXPECT_EQ(main_->global_block().var("nce_0.b_0").shape, (Shape{20, 1}));
  EXPECT_EQ(op_of("nce").attr<int32_t>("sampler"), 1);
  EXPECT_FLOAT_EQ(op_of("scale").attr<float>("scale"), 0.2f);
  EXPECT_REFUSED(nce(x_, label_, 20, {.sampler = "even"}),
                 "sampler must be one of uniform, log_uniform, custom_dist, but is 'even'");
}

TEST_F(Sampled, NceDrawsByTablesThatAreNotLearnt) {
  nce(x_, label_, 4,
      {.bias = kNoBias, .sampler = "custom_dist", .custom_dist = {.1, .2, .3, .4}, .name = "n"});
  EXPECT_EQ(op_of("nce").input("CustomDistAlias"), "n.w_2");
  const Var& aliases = main_->global_block().var("n.w_2");
  EXPECT_EQ(aliases.dtype, i32);
  EXPECT_TRUE(aliases.stop_gradient);
  EXPECT_REFUSED(nce(x_, label_, 4, {.sampler = "custom_dist", .custom_dist = {.5, .5}}),
                 "sampler='custom_dist' needs custom_dist, 4 probabilities");
}

TEST_F(Sampled, AliasTablesKeepTheProbabilities) {
  const std::vector<double> probabilities = {.05, .5, .1, .3, .05};
  const AliasTable table = alias_table(probabilities);
  std::vector<double> found(5, 0);
  for (size_t i = 0; i < 5; ++i) {
    found[i] += table.levels[i] / 5;
    if (table.aliases[i] >= 0)
      found[static_cast<size_t>(table.aliases[i])] += (1 - table.levels[i]) / 5;
  }
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(found[i], probabilities[i], 1e-12);
}

TEST_F(Sampled, TreesOfClasses) {
  hsigmoid(x_, label_, 6, {.is_sparse = true});
  EXPECT_EQ(main_->global_block().var("hierarchical_sigmoid_0.w_0").shape, (Shape{5, 3}));
  EXPECT_FALSE(op_of("hierarchical_sigmoid").attr<bool>("is_sparse"));
  const Variable table = data("table", {-1, 4}, i64), code = data("code", {-1, 4}, i64);
  hsigmoid(x_, label_, 6, {.path_table = table, .path_code = code, .name = "n"});
  EXPECT_EQ(main_->global_block().var("n.w_0").shape, (Shape{6, 3}));
  EXPECT_REFUSED(hsigmoid(x_, label_, 6, {.path_table = table}),
                 "a tree is given by both path_table and path_code, or by none of them");
}

TEST_F(Sampled, SoftmaxOverSamples) {
  const Variable logits = data("logits", {-1, 9});
  const Variable loss = sampled_softmax_with_cross_entropy(logits, label_, 4, {.seed = 3});
  EXPECT_EQ(loss.shape(), (Shape{-1, 1}));
  EXPECT_EQ(op_of("one_hot").attr<int32_t>("depth"), 5);
  EXPECT_TRUE(op_of("softmax_with_cross_entropy").attr<bool>("soft_label"));
}

}  // namespace
}  // namespace flotilla::layers
