#include "flotilla/layers/optimizer.h"

#include <gtest/gtest.h>

#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class OptimizerTest : public LayersTest {
 protected:
  // mean(x w + b)
  Variable linear(const ParamAttr& weight = {}) {
    return mean(fc(data("x", {-1, 3}), 1, {.weight = weight}));
  }
  // mean of looked up rows
  Variable lookup() { return mean(embedding(data("ids", {-1}, i64), 4, 2, {.is_sparse = true})); }
  void minimize(Variable loss, OptimizerOptions options = {.learning_rate = 0.5},
                std::string type = "sgd") {
    Optimizer(std::move(type), std::move(options)).minimize(loss);
  }
  // The ops of the optimizer: what stands behind the last op of the gradient.
  std::string updates() const {
    const Block& block = main_->global_block();
    std::string lines;
    for (const auto& op : block.ops()) {
      if ((op->role() & kOptimizeRole) != 0) lines += print(*op) + "\n";
    }
    return lines;
  }
  // The parameter as a run with these ids leaves it, having started from ones.
  Tensor row_after(const std::string& table, const Tensor& ids) {
    run({{"ids", ids}}, {});
    *scope_.find(table) = full_tensor({4, 2}, 1);
    return run({{"ids", ids}}, {table})[0];
  }
  static Tensor full_tensor(const Shape& shape, double value) {
    return flotilla::full(shape, value);
  }
};

TEST_F(OptimizerTest, UpdatesParametersInTheOrderOfTheirNames) {
  minimize(linear({.learning_rate = 2}));
  EXPECT_EQ(updates(), text(R"(
    sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0 {op_role=2}
    scale(X=learning_rate_0) -> tmp_0 {bias=0.0, op_role=18, scale=2.0}
    sgd(Grad=fc_0.w_0@GRAD, LearningRate=tmp_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0 {op_role=2}
  )"));
  const Op& last = main_->global_block().op(main_->global_block().size() - 1);
  EXPECT_EQ(last.attr<std::vector<std::string>>("op_role_var"),
            (std::vector<std::string>{"fc_0.w_0", "fc_0.w_0@GRAD"}));
  EXPECT_EQ(print(startup_->global_block().op(2)),
            "fill_constant() -> learning_rate_0 {dtype=5, shape=[1L], str_value=\"0.5\", "
            "value=0.5}");
}

TEST_F(OptimizerTest, TrainsALine) {
  minimize(linear());
  run({{"x", tensor({{1, 2, 3}})}}, {});
  const Tensor before = *scope_.find("fc_0.w_0");
  const Tensor kept = before.clone();
  const Tensor after = run({{"x", tensor({{1, 2, 3}})}}, {"fc_0.w_0"})[0];
  for (int i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(values_of(after)[i], values_of(kept)[i] - 0.5 * (i + 1));
  }
}

TEST_F(OptimizerTest, MomentumTakesL2DecayAsAttributes) {
  minimize(linear({.regularizer = l1_decay(0.5f)}),
           {.learning_rate = 0.1, .regularization = l2_decay(0.25f)}, "momentum");
  EXPECT_EQ(updates(), text(R"(
    sign(X=fc_0.w_0) -> _generated_var_0 {op_role=2}
    scale(X=_generated_var_0) -> _generated_var_1 {op_role=2, scale=0.5}
    sum(X=[fc_0.w_0@GRAD, _generated_var_1]) -> fc_0.w_0@GRAD {op_role=2}
    momentum(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0, Velocity=fc_0.b_0_velocity_0) -> ParamOut=fc_0.b_0, VelocityOut=fc_0.b_0_velocity_0 {mu=0.9, op_role=2, regularization_coeff=0.25, regularization_method="l2_decay", rescale_grad=1.0, use_nesterov=false}
    momentum(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0, Velocity=fc_0.w_0_velocity_0) -> ParamOut=fc_0.w_0, VelocityOut=fc_0.w_0_velocity_0 {mu=0.9, op_role=2, rescale_grad=1.0, use_nesterov=false}
  )"));
}

TEST_F(OptimizerTest, AdamHasFourAccumulatorsForEachParameter) {
  Optimizer optimizer("adam", {.attrs = {{"epsilon", 1e-6f}}});
  optimizer.minimize(linear());
  EXPECT_EQ(optimizer.accumulators().size(), 8u);
  EXPECT_EQ(optimizer.accumulators().at({"moment1", "fc_0.w_0"}), "fc_0.w_0_moment1_0");
  EXPECT_EQ(print(startup_->global_block().op(5)),
            "fill_constant() -> fc_0.b_0_beta1_pow_acc_0 {dtype=5, shape=[1L], "
            "str_value=\"0.9\", value=0.9}");
  EXPECT_EQ(main_->global_block().var("fc_0.w_0_moment2_0").shape, (Shape{3, 1}));
}

TEST_F(OptimizerTest, DecayReachesEveryRowOfASparseParameter) {
  minimize(lookup(), {.learning_rate = 1, .regularization = l2_decay(0.25f)});
  EXPECT_EQ(updates(), text(R"(
    scale(X=embedding_0.w_0) -> _generated_var_0 {op_role=2, scale=0.25}
    sum(X=[embedding_0.w_0@GRAD, _generated_var_0]) -> embedding_0.w_0@GRAD@NEWGRAD@ {op_role=2}
    sgd(Grad=embedding_0.w_0@GRAD@NEWGRAD@, LearningRate=learning_rate_0, Param=embedding_0.w_0) -> ParamOut=embedding_0.w_0 {op_role=2}
  )"));
  EXPECT_THAT(row_after("embedding_0.w_0", ints({1, 1})),
              near({.75, .75, .25, .25, .75, .75, .75, .75}, 1e-6));
}

TEST_F(OptimizerTest, SparseGradientsStaySparse) {
  minimize(lookup(), {.learning_rate = 1});
  EXPECT_THAT(row_after("embedding_0.w_0", ints({1, 3})),
              near({1, 1, .75, .75, 1, 1, .75, .75}, 1e-6));
}

TEST_F(OptimizerTest, ClipsByValueAndNorm) {
  minimize(linear(), {.clip = clip_by_value(-1, 1)});
  EXPECT_EQ(updates(), text(R"(
    clip(X=fc_0.b_0@GRAD) -> clip_0.tmp_0 {max=1.0, min=-1.0, op_role=2}
    clip(X=fc_0.w_0@GRAD) -> clip_1.tmp_0 {max=1.0, min=-1.0, op_role=2}
    sgd(Grad=clip_0.tmp_0, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0 {op_role=2}
    sgd(Grad=clip_1.tmp_0, LearningRate=learning_rate_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0 {op_role=2}
  )"));
}

TEST_F(OptimizerTest, GlobalNormLeavesOutWhatAsksForIt) {
  minimize(linear({.need_clip = false}), {.clip = clip_by_global_norm(2)});
  EXPECT_EQ(updates(), text(R"(
    squared_l2_norm(X=fc_0.b_0@GRAD) -> squared_l2_norm_0.tmp_0 {op_role=2}
    sum(X=squared_l2_norm_0.tmp_0) -> add_n_0.tmp_0 {op_role=2}
    sqrt(X=add_n_0.tmp_0) -> sqrt_0.tmp_0 {op_role=2}
    fill_constant() -> fill_constant_0.tmp_0 {dtype=5, op_role=2, shape=[1L], str_value="2", value=2.0}
    elementwise_max(X=fill_constant_0.tmp_0, Y=sqrt_0.tmp_0) -> elementwise_max_0.tmp_0 {axis=-1, op_role=2}
    elementwise_div(X=fill_constant_0.tmp_0, Y=elementwise_max_0.tmp_0) -> elementwise_div_0.tmp_0 {axis=-1, op_role=2}
    elementwise_mul(X=fc_0.b_0@GRAD, Y=elementwise_div_0.tmp_0) -> fc_0.b_0@GRAD {op_role=2}
    sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0 {op_role=2}
    sgd(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0 {op_role=2}
  )"));
}

// Row 1 is looked up twice with half a gradient each: (1, 1) in all, and (1, 1) for the bias.
// Together their norm is 2.
Variable dense_and_sparse() {
  const Variable rows = embedding(data("ids", {-1}, i64), 4, 2, {.is_sparse = true});
  const Variable bias = create_parameter({2}, f32, {.name = "bias"}, true);
  const Variable row = reduce("reduce_mean", rows, {.axes = {0}});
  return sum(row + bias);
}

TEST_F(OptimizerTest, GlobalNormScalesDenseAndSparseGradientsAlike) {
  minimize(dense_and_sparse(), {.learning_rate = 1, .clip = clip_by_global_norm(1)});
  const Tensor table = row_after("embedding_0.w_0", ints({1, 1}));
  EXPECT_THAT(table, near({1, 1, .5, .5, 1, 1, 1, 1}, 1e-6));
}

TEST_F(OptimizerTest, GlobalNormOf1xLeavesGradientsAsTheyAre) {
  GradClip clip = clip_by_global_norm(1);
  clip.in_place = false;
  minimize(dense_and_sparse(), {.learning_rate = 1, .clip = clip});
  EXPECT_THAT(updates(), ::testing::HasSubstr("sgd(Grad=elementwise_mul_0.tmp_0,"));
  EXPECT_THAT(updates(), ::testing::HasSubstr("sgd(Grad=elementwise_mul_1.tmp_0,"));
  const Tensor table = row_after("embedding_0.w_0", ints({1, 1}));
  EXPECT_THAT(table, near({1, 1, .5, .5, 1, 1, 1, 1}, 1e-6));
}

TEST_F(OptimizerTest, ClipsSparseGradientsByTheirNorm) {
  // Row 1 gets (0.5, 0.5) in all, of norm 0.7071; half of that is allowed.
  minimize(lookup(), {.learning_rate = 1, .clip = clip_by_norm(0.35355339f)});
  EXPECT_THAT(row_after("embedding_0.w_0", ints({1, 1})), near({1, 1, .75, .75, 1, 1, 1, 1}, 1e-6));
}

TEST_F(OptimizerTest, ClipsSparseGradientsByValueAfterTheyAddUp) {
  minimize(lookup(), {.learning_rate = 1, .clip = clip_by_value(-1, 0.3f)});
  EXPECT_THAT(row_after("embedding_0.w_0", ints({1, 1})), near({1, 1, .7, .7, 1, 1, 1, 1}, 1e-6));
}

TEST_F(OptimizerTest, WorksOnTheProgramOfTheLoss) {
  const Variable loss = linear();
  const auto other = std::make_shared<Program>(), startup = std::make_shared<Program>();
  const ProgramGuard guard(other, other);
  const Optimizer::Result result = sgd(0.1).minimize(loss, {.startup = startup});
  EXPECT_EQ(result.ops.size(), 2u);
  EXPECT_EQ(result.params_grads[0], (ParamGrad{"fc_0.w_0", "fc_0.w_0@GRAD"}));
  EXPECT_EQ(other->global_block().size(), 0u);
  EXPECT_EQ(ops_of(*startup), text(R"(
    fill_constant() -> learning_rate_0 {dtype=5, shape=[1L], str_value="0.1", value=0.1}
  )"));
}

TEST_F(OptimizerTest, TrainsOnlyTheParametersThatAreNamed) {
  const Optimizer::Result result = sgd(0.1).minimize(linear(), {.parameters = {"fc_0.b_0"}});
  ASSERT_EQ(result.params_grads.size(), 1u);
  EXPECT_EQ(result.params_grads[0].param, "fc_0.b_0");
}

TEST_F(OptimizerTest, RefusesWhatItDoesNotKnow) {
  EXPECT_REFUSED(Optimizer("sdg", {}), "there is no optimizer \"sdg\". Did you mean \"sgd\"?");
  EXPECT_REFUSED(Optimizer("adam", {.attrs = {{"beta3", 1.0f}}}),
                 "the optimizer adam has no setting \"beta3\". Did you mean \"beta1\"?");
  EXPECT_REFUSED(sgd(0.1).apply_gradients({}),
                 "the loss depends on no trainable parameter, so there is nothing to optimize");
}

}  // namespace
}  // namespace flotilla::layers
