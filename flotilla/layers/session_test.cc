// The C++ API as its users see it: one include, a session.

#include <gtest/gtest.h>

#include "flotilla/flotilla.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
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

}  // namespace
}  // namespace flotilla::layers
