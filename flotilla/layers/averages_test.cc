#include "flotilla/layers/averages.h"

#include <gtest/gtest.h>

#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

// One parameter, w, that starts at 8 and goes down by 1 in each step; `b` wants no average.
class Averages : public LayersTest {
 protected:
  const Variable x_ = data("x", {-1, 1});

  Averages() {
    const ParamAttr w = {.name = "w", .initializer = constant(8)};
    const ParamAttr b = {.name = "b", .do_model_average = false};
    sgd(1).minimize(mean(fc(x_, 1, {.weight = w, .bias = b})));
  }

  std::vector<Tensor> step(const std::vector<std::string>& names) {
    return run({{"x", tensor({1}, Shape{1, 1})}}, names);
  }
  Tensor of_scope(const std::string& name) { return *scope_.find(name); }
};

TEST_F(Averages, ExponentialOnesFollow) {
  const ExponentialMovingAverage ema(0.5);
  ema.update();
  const std::vector<std::string> names = {"w", "w_ema_0", "ema_missing_0"};
  std::vector<Tensor> found = step(names);
  EXPECT_THAT(found[0], near({7}, 1e-6));
  EXPECT_THAT(found[1], near({3.5}, 1e-6));
  EXPECT_THAT(found[2], near({0.5}, 1e-6));
  found = step(names);
  EXPECT_THAT(found[1], near({0.5 * 3.5 + 0.5 * 6}, 1e-6));
  EXPECT_THAT(found[2], near({0.25}, 1e-6));
}

TEST_F(Averages, TakeThePlaceOfParametersForAWhile) {
  const ExponentialMovingAverage ema(0.5);
  ema.update();
  step({});
  step({});
  Executor executor;
  executor.run(*ema.swap().apply, {}, {}, scope_);
  EXPECT_THAT(of_scope("w"), near({4.75 / 0.75}, 1e-5));
  executor.run(*ema.swap().restore, {}, {}, scope_);
  EXPECT_THAT(of_scope("w"), near({6}, 1e-6));
}

TEST_F(Averages, YoungOnesDecayFaster) {
  const ExponentialMovingAverage ema(0.999, data("steps", {1}, i64), "young_");
  ema.update();
  const std::vector<Feed> feeds = {{"x", tensor({1}, Shape{1, 1})}, {"steps", ints({8})}};
  // (8 + 1) / (8 + 10)
  EXPECT_THAT(run(feeds, {"young_ema_missing_0"})[0], near({0.5}, 1e-6));
}

TEST_F(Averages, WindowsDropWhatCameBefore) {
  const ModelAverage average({.window_rate = 1, .least = 2, .most = 2});
  ASSERT_EQ(average.sums().size(), 1u);
  std::vector<std::string> names = average.sums()[0].names();
  names.insert(names.end(), average.counters().begin(), average.counters().end());
  std::vector<Tensor> found;
  for (int i = 0; i < 3; ++i) found = step(names);
  // 7 and 6 filled the window, 5 is the first one after it.
  EXPECT_THAT(found[0], near({5}, 1e-6));
  EXPECT_THAT(found[2], near({13}, 1e-6));
  EXPECT_THAT(found[3], equal_to({1}));
  EXPECT_THAT(found[4], equal_to({2}));
  Executor().run(*average.swap().apply, {}, {}, scope_);
  EXPECT_THAT(of_scope("w"), near({6}, 1e-5));
}

TEST_F(Averages, LongSumsAreKeptApart) {
  const ModelAverage average({.window_rate = 1, .least = 100, .most = 100, .longest_sum = 2});
  std::vector<Tensor> found;
  for (int i = 0; i < 3; ++i) found = step(average.sums()[0].names());
  EXPECT_THAT(found[0], near({5}, 1e-6));
  EXPECT_THAT(found[1], near({13}, 1e-6));
  EXPECT_THAT(found[2], near({0}, 0));
  Executor().run(*average.swap().apply, {}, {}, scope_);
  EXPECT_THAT(of_scope("w"), near({6}, 1e-5));
}

TEST_F(Averages, OfSomeParameters) {
  const Variable w = main_->global_block().var("w"), b = main_->global_block().var("b");
  EXPECT_EQ(ModelAverage({.parameters = Variables{w, b}}).sums().size(), 1u);
  EXPECT_TRUE(ModelAverage({.parameters = Variables{}}).sums().empty());
}

}  // namespace
}  // namespace flotilla::layers
