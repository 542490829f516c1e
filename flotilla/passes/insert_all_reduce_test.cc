#include "flotilla/passes/insert_all_reduce.h"

#include "flotilla/layers/norm.h"
#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InsertAllReduce : public TrainingTest {
 protected:
  void insert(const ExchangeOptions& options) {
    insert_all_reduce(*main_, options);
    verify(*main_, Stage::kParallel);
  }
};

TEST_F(InsertAllReduce, AveragesEveryGradientBeforeItIsUsed) {
  layers::sgd(0.5).minimize(linear());
  insert({.nranks = 4});
  EXPECT_EQ(training_ops(), text(R"(
    fill_constant() -> mean_0.tmp_0@GRAD {dtype=5, shape=[1L], value=1.0}
    scale(X=mean_0.tmp_0@GRAD) -> mean_0.tmp_0@GRAD {scale=0.25}
    reduce_mean_grad(Out@GRAD=mean_0.tmp_0@GRAD, X=fc_0.tmp_1) -> X@GRAD=fc_0.tmp_1@GRAD {dim=ints[], keep_dim=false, reduce_all=true}
    elementwise_add_grad(Out@GRAD=fc_0.tmp_1@GRAD, X=fc_0.tmp_0, Y=fc_0.b_0) -> X@GRAD=fc_0.tmp_0@GRAD, Y@GRAD=fc_0.b_0@GRAD {axis=1}
    c_allreduce_sum(X=fc_0.b_0@GRAD) -> fc_0.b_0@GRAD {ring_id=0, use_calc_stream=false}
    mul_grad(Out@GRAD=fc_0.tmp_0@GRAD, X=x, Y=fc_0.w_0) -> Y@GRAD=fc_0.w_0@GRAD {x_num_col_dims=1, y_num_col_dims=1}
    c_allreduce_sum(X=fc_0.w_0@GRAD) -> fc_0.w_0@GRAD {ring_id=0, use_calc_stream=false}
    c_sync_comm_stream(X=[fc_0.b_0@GRAD, fc_0.w_0@GRAD]) -> [fc_0.b_0@GRAD, fc_0.w_0@GRAD] {ring_id=0}
    sgd(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0) -> ParamOut=fc_0.b_0
    sgd(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0) -> ParamOut=fc_0.w_0
  )"));
}

// What is drafted for the backward pass leaves with it.
TEST_F(InsertAllReduce, LeavesNothingInAProgramForTests) {
  layers::sgd(0.5).minimize(linear());
  const std::string before = ops_of(*main_->clone(true));
  insert({.nranks = 4});
  EXPECT_EQ(ops_of(*main_->clone(true)), before);
}

TEST_F(InsertAllReduce, SumsWhereNothingIsAveraged) {
  layers::sgd(0.5).minimize(linear());
  insert({.nranks = 4, .average = false});
  EXPECT_EQ(main_->global_block().count("scale"), 0);
  EXPECT_EQ(main_->global_block().count("c_allreduce_sum"), 2);
}

TEST_F(InsertAllReduce, WeighsBySamplesWhereTheyAreCounted) {
  layers::sgd(0.5).minimize(linear());
  insert({.nranks = 4, .by_samples = true});
  EXPECT_EQ(main_->global_block().count("scale"), 0);
  EXPECT_THAT(training_ops(), HasSubstr("weigh_by_samples(Samples=x, X=mean_0.tmp_0@GRAD) -> "
                                        "mean_0.tmp_0@GRAD {ring_id=0}\nreduce_mean_grad("));
}

TEST_F(InsertAllReduce, WaitsAtOnceOnTheStreamOfTheProgram) {
  layers::sgd(0.5).minimize(linear());
  insert({.nranks = 2, .use_calc_stream = true});
  EXPECT_THAT(training_ops(),
              HasSubstr("c_allreduce_sum(X=fc_0.w_0@GRAD) -> fc_0.w_0@GRAD {ring_id=0, "
                        "use_calc_stream=true}\nsgd("));
  EXPECT_EQ(main_->global_block().count("c_sync_comm_stream"), 0);
}

// The parts of a gradient that is used twice are added up first.
TEST_F(InsertAllReduce, ExchangesASumOnce) {
  const layers::Variable x = layers::data("x", {-1, 3});
  const layers::FcOptions shared = {.weight = {.name = "w"}, .bias = layers::kNoBias};
  layers::sgd(0.5).minimize(layers::mean(layers::fc(layers::fc(x, 3, shared), 3, shared)));
  insert({.nranks = 2});
  EXPECT_EQ(main_->global_block().count("c_allreduce_sum"), 1);
  EXPECT_THAT(training_ops(),
              HasSubstr("sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> w@GRAD\n"
                        "c_allreduce_sum(X=w@GRAD)"));
}

TEST_F(InsertAllReduce, GathersSparseRows) {
  const layers::Variable ids = layers::data("ids", {-1}, i64);
  layers::sgd(0.5).minimize(layers::mean(layers::embedding(ids, 4, 2, {.is_sparse = true})));
  insert({.nranks = 2});
  EXPECT_THAT(training_ops(),
              HasSubstr("all_gather_rows(X=embedding_0.w_0@GRAD) -> embedding_0.w_0@GRAD "
                        "{ring_id=0, use_calc_stream=false}\n"
                        "c_sync_comm_stream(X=embedding_0.w_0@GRAD)"));
  EXPECT_EQ(main_->global_block().count("c_allreduce_sum"), 0);
}

// All ranks clip by the norm of the averaged gradients, and decay them afterwards.
TEST_F(InsertAllReduce, StandsBeforeClippingAndDecay) {
  layers::Optimizer(
      "adam", {.regularization = layers::l2_decay(0.1f), .clip = layers::clip_by_global_norm(1)})
      .minimize(linear());
  insert({.nranks = 2});
  std::vector<std::string> types = types_of(main_->global_block());
  types.erase(types.begin(), std::find(types.begin(), types.end(), "fill_constant"));
  EXPECT_THAT(
      types, ElementsAre("fill_constant", "scale", "reduce_mean_grad", "elementwise_add_grad",
                         "c_allreduce_sum", "mul_grad", "c_allreduce_sum", "c_sync_comm_stream",
                         "squared_l2_norm", "squared_l2_norm", "sum", "sqrt", "fill_constant",
                         "elementwise_max", "elementwise_div", "elementwise_mul", "elementwise_mul",
                         "scale", "sum", "scale", "sum", "adam", "adam"));
}

TEST_F(InsertAllReduce, LeavesStatisticsAndSchedulesAlone) {
  const layers::Variable x = layers::data("x", {-1, 2, 4, 4});
  layers::momentum(0.5).minimize(layers::mean(layers::batch_norm(x)));
  insert({.nranks = 2});
  const Block& block = main_->global_block();
  EXPECT_EQ(block.count("c_allreduce_sum"), 2);
  for (const auto& op : block.ops()) {
    if (op->type() != "c_allreduce_sum") continue;
    EXPECT_THAT(op->output("Out"), ::testing::EndsWith("@GRAD"));
    EXPECT_EQ(op->role(), kBackwardRole);
  }
}

// What a program does to gradients between backward and apply_gradients sees the averages.
TEST_F(InsertAllReduce, WaitsForOpsOfTheUser) {
  const layers::Variable loss = linear();
  layers::Optimizer sgd = layers::sgd(0.5);
  std::vector<ParamGrad> pairs = sgd.backward(loss);
  for (ParamGrad& pair : pairs) {
    const layers::Variable grad = main_->global_block().var(pair.grad);
    pair.grad = (grad * 2.0f).name();
  }
  sgd.apply_gradients(pairs);
  insert({.nranks = 2});
  const std::string ops = training_ops();
  EXPECT_EQ(main_->global_block().count("c_allreduce_sum"), 2);
  EXPECT_LT(ops.find("c_sync_comm_stream"), ops.find("-> tmp_0"));
  EXPECT_LT(ops.find("c_allreduce_sum(X=fc_0.w_0@GRAD)"), ops.find("c_sync_comm_stream"));
}

TEST_F(InsertAllReduce, AddsASecondLossToTheFirst) {
  const layers::Variable x = layers::data("x", {-1, 3});
  const layers::Variable first = layers::fc(x, 2, {.bias = layers::kNoBias});
  const layers::Variable second = layers::fc(x, 2, {.bias = layers::kNoBias});
  layers::sgd(0.5).minimize(layers::mean(first), {.parameters = {"fc_0.w_0"}});
  insert({.nranks = 2});
  layers::sgd(0.1).minimize(layers::mean(second), {.parameters = {"fc_1.w_0"}});
  insert({.nranks = 2});
  const Block& block = main_->global_block();
  EXPECT_EQ(block.count("c_allreduce_sum"), 2);
  EXPECT_EQ(block.count("scale"), 2);
  EXPECT_EQ(block.count("c_sync_comm_stream"), 2);
}

TEST_F(InsertAllReduce, RefusesAProgramThatDoesNotTrain) {
  linear();
  EXPECT_REFUSED(insert_all_reduce(*main_, {.nranks = 2}),
                 "the program has no gradient to exchange between 2 ranks: no op updates a "
                 "parameter with what backward ops wrote, or all of it is exchanged already");
  EXPECT_REFUSED(insert_all_reduce(*main_, {.nranks = 0}),
                 "gradients are exchanged between one rank or more, but nranks is 0");
}

}  // namespace
}  // namespace flotilla::passes
