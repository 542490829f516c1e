// The C++ API as its users see it: one include, a session.

#include <gtest/gtest.h>

#include "flotilla/flotilla.h"
#include "flotilla/ir/proto.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/temp_dir.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using SessionTest = LayersTest;

TEST_F(SessionTest, RunsFetchesGetsAndSets) {
  const Variable x = data("x", {-1, 2});
  const Variable y = fc(x, 1, {.bias = kNoBias});
  Session session;
  session.run(*startup_);
  session.set("fc_0.w_0", tensor({2, 3}, Shape{2, 1}));
  const std::vector<Tensor> found = session.run(*main_, {{"x", tensor({{1, 1}, {1, 2}})}}, {y, x});
  EXPECT_THAT(found[0], equal_to(tensor({5, 8}, Shape{2, 1})));
  EXPECT_THAT(found[1], equal_to(tensor({{1, 1}, {1, 2}})));
  EXPECT_THAT(session.get("fc_0.w_0").plain(), near({2, 3}, 0));
  EXPECT_REFUSED(session.get("fc_0.w"), "the session has no value of \"fc_0.w\"");
}

TEST_F(SessionTest, ItemIsTheOnlyElement) {
  EXPECT_EQ(item(tensor({2.5})), 2.5);
  EXPECT_EQ(item(ints({7})), 7);
  EXPECT_REFUSED(item(tensor({1, 2})),
                 "a tensor of one element was expected, but it has shape [2]");
}

TEST_F(SessionTest, FetchesSparseGradientsAsDenseOnes) {
  const Variable rows = embedding(data("ids", {-1}, i64), 3, 2, {.is_sparse = true});
  append_backward(sum(rows));
  Session session;
  session.run(*startup_);
  const Variable gradient = main_->global_block().var("embedding_0.w_0@GRAD");
  EXPECT_THAT(session.run(*main_, {{"ids", ints({2, 2})}}, {gradient})[0],
              equal_to(tensor({{0, 0}, {0, 0}, {2, 2}})));
}

TEST_F(SessionTest, AScheduleSetsTheLearningRateOfTheNextRun) {
  const Variable loss = mean(fc(data("x", {-1, 1}), 1, {.bias = kNoBias}));
  Optimizer optimizer = sgd(1);
  optimizer.minimize(loss);
  Session session;
  session.run(*startup_);
  session.set("fc_0.w_0", tensor({0}, Shape{1, 1}));
  LrScheduler schedule(lr::piecewise({1}, {1, 0.5}));
  std::vector<double> weights;
  for (int run = 0; run < 3; ++run, schedule.step()) {
    session.set_learning_rate(optimizer, main_, schedule.get_lr());
    session.run(*main_, {{"x", tensor({1}, Shape{1, 1})}});
    weights.push_back(item(session.get("fc_0.w_0")));
  }
  EXPECT_EQ(weights, (std::vector<double>{-1, -1.5, -2}));
}

TEST_F(SessionTest, ASeedRepeatsARun) {
  fc(data("x", {-1, 8}), 8);
  Session one(7), two(7), other(8);
  one.run(*startup_);
  two.run(*startup_);
  other.run(*startup_);
  EXPECT_EQ(values_of(one.get("fc_0.w_0")), values_of(two.get("fc_0.w_0")));
  EXPECT_NE(values_of(one.get("fc_0.w_0")), values_of(other.get("fc_0.w_0")));
}

TEST_F(SessionTest, AnInferenceModelComesBack) {
  const TempDir folder;
  const std::string prefix = folder.file("models/line");
  const Variable x = data("x", {-1, 2});
  const Variable y = fc(x, 1);
  adam(0.1).minimize(mean(square_error_cost(y, data("label", {-1, 1}))));
  Session trained;
  trained.run(*startup_);
  const std::vector<Feed> images = {{"x", tensor({{1, 2}, {3, 4}})}};
  trained.run(*main_, {images[0], {"label", tensor({1, 2}, Shape{2, 1})}});
  EXPECT_REFUSED(Session().save_inference_model(prefix, *main_, x, y),
                 "variable \"fc_0.b_0\" cannot be saved: it has no value. Run the startup program "
                 "first");
  EXPECT_TRUE(folder.names().empty());
  trained.save_inference_model(prefix, *main_, x, y);
  const Tensor expected = trained.run(*main_->clone(true)->prune({"x"}, {y.name()}), images, y)[0];

  Session fresh;
  const InferenceModel model = fresh.load_inference_model(prefix);
  EXPECT_EQ(model.feeds, std::vector<std::string>{"x"});
  EXPECT_EQ(model.fetches.names(), std::vector<std::string>{y.name()});
  EXPECT_THAT(fresh.run(*model.program, images, model.fetches)[0], equal_to(expected));

  EXPECT_REFUSED(
      fresh.load_inference_model(folder.file("models")),
      "expected the prefix of a model's files, but \"" + folder.file("models") + "\" is a folder");
  std::filesystem::resize_file(prefix + ".pdiparams", 40);
  Session other;
  EXPECT_THROW(other.load_inference_model(prefix), Error);
  EXPECT_EQ(other.scope().find("fc_0.w_0"), nullptr);
}

TEST_F(SessionTest, TrainingGoesOnFromPersistables) {
  const TempDir folder;
  const Variable loss = mean(fc(data("x", {-1, 2}), 1, {.act = "tanh"}));
  adam(0.1).minimize(loss);
  const std::vector<Feed> batch = {{"x", tensor({{1, 2}, {3, 4}})}};
  Session first;
  first.run(*startup_);
  first.run(*main_, batch);
  first.save_persistables(folder.path(), *main_);
  first.run(*main_, batch);
  Session second;  // which never saw the startup program
  second.load_persistables(folder.path(), *main_);
  second.run(*main_, batch);
  for (const std::string& name : persistable_names(*main_)) {
    EXPECT_EQ(values_of(first.get(name)), values_of(second.get(name))) << name;
  }
}

// Paddle 1.8 wrote this update: it has no attribute that only 2.x knows (op/import_from_paddle.h).
TEST_F(SessionTest, AProgramOfAnEarlierReleaseKeepsItsMeaning) {
  const auto old = deserialize_program(serialize(*parse(R"(
    var p f32[2]
    adam(Param=p) -> ParamOut=p {epsilon=0.5}
  )")));
  EXPECT_TRUE(old->global_block().op(0).attr_or<bool>("plain_epsilon", false));
  const auto ours = deserialize_program(serialize_program(*parse(R"(
    var p f32[2]
    adam(Param=p) -> ParamOut=p {epsilon=0.5}
  )")));
  EXPECT_FALSE(ours->global_block().op(0).attr_or<bool>("plain_epsilon", false));
}

}  // namespace
}  // namespace flotilla::layers
