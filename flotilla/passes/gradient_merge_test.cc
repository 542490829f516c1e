#include "flotilla/passes/gradient_merge.h"

#include "flotilla/passes/insert_all_reduce.h"
#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class GradientMerge : public TrainingTest {
 protected:
  void merge(const MergeOptions& options) {
    gradient_merge(*main_, *startup_, options);
    verify(*main_, Stage::kTraining);
    verify(*startup_, Stage::kTraining);
  }
  // The updates of merged gradients.
  const Block& inner() const { return main_->block(1); }
};

TEST_F(GradientMerge, UpdatesInEveryKthStep) {
  layers::sgd(0.5).minimize(linear());
  merge({.steps = 4});
  const std::string ops = training_ops();
  EXPECT_EQ(ops.substr(ops.find("elementwise_add(X=fc_0.b_0@GRAD@GradientMerge")), text(R"(
    elementwise_add(X=fc_0.b_0@GRAD@GradientMerge, Y=fc_0.b_0@GRAD) -> fc_0.b_0@GRAD@GradientMerge
    elementwise_add(X=fc_0.w_0@GRAD@GradientMerge, Y=fc_0.w_0@GRAD) -> fc_0.w_0@GRAD@GradientMerge
    increment(X=gradient_merge_step) -> gradient_merge_step {step=1.0}
    fill_constant() -> gradient_merge_k {dtype=3, shape=[1L], value=4.0}
    elementwise_mod(X=gradient_merge_step, Y=gradient_merge_k) -> gradient_merge_rest
    fill_constant() -> gradient_merge_zero {dtype=3, shape=[1L], value=0.0}
    equal(X=gradient_merge_rest, Y=gradient_merge_zero) -> gradient_merge_due
    conditional_block(Cond=gradient_merge_due, Input=[fc_0.b_0, fc_0.b_0@GRAD, fc_0.b_0@GRAD@GradientMerge, fc_0.w_0, fc_0.w_0@GRAD, fc_0.w_0@GRAD@GradientMerge, learning_rate_0]) -> [fc_0.b_0, fc_0.b_0@GRAD, fc_0.b_0@GRAD@GradientMerge, fc_0.w_0, fc_0.w_0@GRAD, fc_0.w_0@GRAD@GradientMerge] {is_scalar_condition=true, sub_block=block 1}
  )"));
  EXPECT_EQ(lines_from(inner(), kBackwardRole), text(R"(
    scale(X=fc_0.b_0@GRAD@GradientMerge) -> fc_0.b_0@GRAD {scale=0.25}
    scale(X=fc_0.w_0@GRAD@GradientMerge) -> fc_0.w_0@GRAD {scale=0.25}
    sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0
    sgd(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0
    fill_constant() -> fc_0.b_0@GRAD@GradientMerge {dtype=5, shape=[1L], value=0.0}
    fill_constant() -> fc_0.w_0@GRAD@GradientMerge {dtype=5, shape=[3L, 1L], value=0.0}
  )"));
  EXPECT_THAT(startup_ops(), HasSubstr("fill_constant() -> gradient_merge_step"));
}

// Four batches of two are one of eight, also where clipping sees the norm of all gradients.
TEST_F(GradientMerge, TrainsAsWithTheLargeBatch) {
  const Tensor all = uniform({8, 3}, -1, 1, 1);
  const auto piece = [&](int64_t i) {
    const auto values = values_of(all);
    std::vector<double> rows(values.begin() + i * 6, values.begin() + (i + 1) * 6);
    return tensor({{rows[0], rows[1], rows[2]}, {rows[3], rows[4], rows[5]}});
  };
  const auto train = [&](bool merged, bool in_place) {
    layers::GradClip clip = layers::clip_by_global_norm(0.5);
    clip.in_place = in_place;
    const auto main = std::make_shared<Program>(), startup = std::make_shared<Program>();
    const layers::ProgramGuard programs(main, startup);
    const layers::NameGuard names;
    const layers::Variable y = layers::fc(layers::data("x", {-1, 3}), 4,
                                          {.weight = {.initializer = layers::constant(0.5)}});
    layers::Optimizer(
        "adam", {.learning_rate = 0.1, .regularization = layers::l2_decay(0.1f), .clip = clip})
        .minimize(layers::mean(layers::square(y)));
    if (merged) gradient_merge(*main, *startup, {.steps = 4});
    Scope scope;
    Executor executor;
    executor.run(*startup, {}, {}, scope);
    std::vector<double> trace;
    for (int64_t step = 0; step < (merged ? 12 : 3); ++step) {
      executor.run(*main, {{"x", merged ? piece(step % 4) : all}}, {}, scope);
      if (merged && step % 4 != 3) continue;
      const auto weight = values_of(*scope.find("fc_0.w_0"));
      trace.insert(trace.end(), weight.begin(), weight.end());
    }
    return trace;
  };
  for (const bool in_place : {true, false}) {
    EXPECT_THAT(train(true, in_place),
                Pointwise(::testing::DoubleNear(1e-5), train(false, in_place)));
  }
}

TEST_F(GradientMerge, SumsWhereNothingIsAveraged) {
  layers::sgd(0.5).minimize(linear());
  merge({.steps = 4, .average = false});
  EXPECT_EQ(inner().op(0).attr<float>("scale"), 1);
}

TEST_F(GradientMerge, ExchangesInTheStepsThatUpdate) {
  layers::Optimizer("sgd", {.clip = layers::clip_by_global_norm(1)}).minimize(linear());
  merge({.steps = 2});
  insert_all_reduce(*main_, {.nranks = 2});
  verify(*main_, Stage::kParallel);
  EXPECT_EQ(main_->global_block().count("c_allreduce_sum"), 0);
  EXPECT_EQ(main_->global_block().count("scale"), 1) << "of the loss";
  std::vector<std::string> types = types_of(inner());
  types.resize(6);
  EXPECT_THAT(types, ElementsAre("scale", "c_allreduce_sum", "scale", "c_allreduce_sum",
                                 "c_sync_comm_stream", "squared_l2_norm"));
}

TEST_F(GradientMerge, RefusesWhatItCannotMerge) {
  EXPECT_REFUSED(merge({.steps = 2}),
                 "gradient_merge needs a program with updates, but there are none");
  const layers::Variable ids = layers::data("ids", {-1}, i64);
  layers::sgd(0.5).minimize(layers::mean(layers::embedding(ids, 4, 2, {.is_sparse = true})));
  EXPECT_REFUSED(merge({.steps = 2}),
                 "gradient_merge needs dense gradients, but \"embedding_0.w_0@GRAD\" is sparse");
  layers::sgd(0.5).minimize(linear());
  EXPECT_REFUSED(merge({.steps = 2}),
                 "gradient_merge needs all gradients before all updates, but fill_constant comes "
                 "after one");
}

// The updates of such a program would not see what was merged.
TEST_F(GradientMerge, RefusesGradientsThatTheProgramChanges) {
  const layers::Variable loss = linear();
  layers::Optimizer sgd = layers::sgd(0.5);
  std::vector<ParamGrad> pairs = sgd.backward(loss);
  for (ParamGrad& pair : pairs) {
    pair.grad = (layers::Variable(main_->global_block().var(pair.grad)) * 2.0f).name();
  }
  sgd.apply_gradients(pairs);
  const std::string before = startup_ops();
  EXPECT_REFUSED(merge({.steps = 2}),
                 "gradient_merge cannot merge \"tmp_1\", which updates \"fc_0.b_0\": no backward "
                 "op makes it");
  EXPECT_EQ(startup_ops(), before);
}

}  // namespace
}  // namespace flotilla::passes
