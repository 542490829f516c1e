#include "flotilla/layers/lr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/layers/lr_ops.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

std::vector<double> rates(const LrRate& rate, int64_t epochs) {
  LrScheduler scheduler(rate);
  std::vector<double> values;
  for (int64_t i = 0; i < epochs; ++i, scheduler.step()) values.push_back(scheduler.get_lr());
  return values;
}

MATCHER(IsNear, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-6; }

// The values were read from Paddle 2.6.2.
TEST(LrRates, FollowPaddle) {
  EXPECT_THAT(rates(lr::piecewise({2, 4}, {.1, .01, .001}), 5),
              Pointwise(IsNear(), {.1, .1, .01, .01, .001}));
  EXPECT_THAT(rates(lr::cosine_annealing(.5, 5), 7),
              Pointwise(IsNear(), {.5, .4522542, .3272542, .1727458, .0477458, 0., .0477458}));
  EXPECT_THAT(rates(lr::linear_warmup(lr::constant(.5), 4, 0, .5), 6),
              Pointwise(IsNear(), {0., .125, .25, .375, .5, .5}));
  EXPECT_THAT(rates(lr::noam(64, 4), 6),
              Pointwise(IsNear(), {0., .015625, .03125, .046875, .0625, .0559017}));
  EXPECT_THAT(rates(lr::natural_exp(.5, .1), 3), Pointwise(IsNear(), {.5, .4524187, .4093654}));
  EXPECT_THAT(rates(lr::inverse_time(.5, .1), 3), Pointwise(IsNear(), {.5, .4545455, .4166667}));
  EXPECT_THAT(rates(lr::exponential(.5, .9), 3), Pointwise(IsNear(), {.5, .45, .405}));
  EXPECT_THAT(rates(lr::polynomial(.1, 3, .01, 2), 5),
              Pointwise(IsNear(), {.1, .05, .02, .01, .01}));
  EXPECT_THAT(rates(lr::polynomial(.1, 3, .01, 2, true), 8),
              Pointwise(IsNear(), {.1, .05, .02, .01, .02, .0125, .01, .0144444}));
  EXPECT_THAT(rates(lr::multi_step(.5, {2, 4}), 5), Pointwise(IsNear(), {.5, .5, .05, .05, .005}));
  EXPECT_THAT(rates(lr::step(.5, 2), 5), Pointwise(IsNear(), {.5, .5, .05, .05, .005}));
}

TEST(LrRates, FollowFactorsOfTheirOwn) {
  const auto half = [](int64_t epoch) { return epoch == 0 ? 1 : .5; };
  EXPECT_THAT(rates(lr::times(.4, half), 3), Pointwise(IsNear(), {.4, .2, .2}));
  EXPECT_THAT(rates(lr::times_each(.4, half), 3), Pointwise(IsNear(), {.4, .2, .1}));
}

TEST(LrRates, RiseAndFall) {
  EXPECT_THAT(rates(lr::linear(.5, 4), 6),
              Pointwise(IsNear(), {.1666667, .25, .3333333, .4166667, .5, .5}));
  EXPECT_THAT(rates(lr::cosine_warm_restarts(.5, 2, 2, .1), 7),
              Pointwise(IsNear(), {.5, .3, .5, .4414214, .3, .1585786, .5}));
  EXPECT_THAT(rates(lr::cyclic(.1, .5, 2, 2), 6), Pointwise(IsNear(), {.1, .3, .5, .3, .1, .3}));
  EXPECT_THAT(rates(lr::cyclic(.1, .5, 2, 3, lr::cycle_scale("triangular2")), 8),
              Pointwise(IsNear(), {.1, .3, .5, .3666667, .2333333, .1, .2, .3}));
  EXPECT_THAT(rates(lr::cyclic(.1, .5, 2, 2, lr::cycle_scale("exp_range", .9)), 4),
              Pointwise(IsNear(), {.1, .28, .424, .2458}));
  EXPECT_THAT(rates(lr::one_cycle(1, 10), 5),
              Pointwise(IsNear(), {.04, .52, 1., .9504894, .8117637}));
  EXPECT_THAT(
      rates(
          lr::one_cycle(
              1, 10, {.divide_factor = 10, .end = .01, .strategy = "linear", .three_phase = true}),
          6),
      Pointwise(IsNear(), {.1, .55, 1., .55, .1, .082}));
}

TEST(LrRates, WarmupCountsTheRestFromZero) {
  EXPECT_THAT(rates(lr::linear_warmup(lr::piecewise({1}, {.4, .2}), 2, 0, .4), 5),
              Pointwise(IsNear(), {0., .2, .4, .2, .2}));
}

TEST(LrRates, RefuseWhatDoesNotFit) {
  EXPECT_REFUSED(lr::piecewise({2, 4}, {.1, .01}), "2 boundaries need 3 values, but 2 were given");
  EXPECT_REFUSED(lr::multi_step(.1, {4, 2}), "milestones must ascend, but 4 comes before 2");
  EXPECT_REFUSED(lr::cosine_warm_restarts(.1, 2.5),
                 "T_0 must be a whole number of 1 or more, but is 2.5");
  EXPECT_REFUSED(lr::cycle_scale("square"),
                 "mode must be one of triangular, triangular2, exp_range, but is 'square'");
  EXPECT_REFUSED(lr::one_cycle(1, 3)(4), "step 4 is beyond total_steps, 3");
}

TEST(LrScheduler, GoesOnFromItsState) {
  LrScheduler scheduler(lr::step(.5, 2));
  scheduler.step();
  scheduler.step();
  LrScheduler resumed(lr::step(.5, 2));
  resumed.set_state(scheduler.state());
  EXPECT_THAT(resumed.get_lr(), DoubleNear(.05, 1e-9));
  resumed.step();
  resumed.step();
  EXPECT_THAT(resumed.get_lr(), DoubleNear(.005, 1e-9));
  resumed.step(1);
  EXPECT_THAT(resumed.get_lr(), DoubleNear(.5, 1e-9));
}

TEST(ReduceOnPlateau, WaitsForItsPatienceAndCoolsDown) {
  ReduceOnPlateau plateau(1, {.factor = 0.5, .patience = 1, .cooldown = 1});
  std::vector<double> values;
  for (const double loss : {5., 4., 4., 4., 4., 4., 4., 3.}) {
    plateau.step(loss);
    values.push_back(plateau.get_lr());
  }
  EXPECT_THAT(values, Pointwise(IsNear(), {1., 1., 1., .5, .5, .5, .25, .25}));
  ReduceOnPlateau resumed(1, plateau.options());
  resumed.set_state(plateau.state());
  EXPECT_EQ(resumed.get_lr(), .25);
}

class LrOps : public LayersTest {
 protected:
  std::vector<double> values(Variable rate, int64_t runs) {
    std::vector<double> found;
    for (int64_t i = 0; i < runs; ++i) found.push_back(values_of(run({}, {rate.name()})[0])[0]);
    return found;
  }
};

// The values were read from Paddle 1.8.5.
TEST_F(LrOps, Noam) {
  EXPECT_THAT(values(noam_decay(64, 4), 6),
              Pointwise(IsNear(), {.015625, .03125, .046875, .0625, .0559017, .0510310}));
}
TEST_F(LrOps, Exponential) {
  EXPECT_THAT(values(exponential_decay(.1, 3, .5), 4),
              Pointwise(IsNear(), {.1, .0793701, .0629961, .05}));
}
TEST_F(LrOps, ExponentialStairs) {
  EXPECT_THAT(values(exponential_decay(.1, 3, .5, true), 7),
              Pointwise(IsNear(), {.1, .1, .1, .05, .05, .05, .025}));
}
TEST_F(LrOps, NaturalExp) {
  EXPECT_THAT(values(natural_exp_decay(.1, 3, .5, true), 7),
              Pointwise(IsNear(), {.1, .1, .1, .0606531, .0606531, .0606531, .0367879}));
}
TEST_F(LrOps, InverseTime) {
  EXPECT_THAT(values(inverse_time_decay(.1, 3, .5, true), 7),
              Pointwise(IsNear(), {.1, .1, .1, .0666667, .0666667, .0666667, .05}));
}
TEST_F(LrOps, Polynomial) {
  EXPECT_THAT(values(polynomial_decay(.1, 3, .01, 2), 5),
              Pointwise(IsNear(), {.1, .05, .02, .01, .01}));
}
TEST_F(LrOps, PolynomialInCycles) {
  EXPECT_THAT(values(polynomial_decay(.1, 3, .01, 2, true), 8),
              Pointwise(IsNear(), {.1, .05, .02, .01, .02, .0125, .01, .0144444}));
}
TEST_F(LrOps, PiecewiseIsExact) {
  const std::vector<double> found = values(piecewise_decay({2, 4}, {.1, .01, .001}), 6);
  const std::vector<float> expected = {.1f, .1f, .01f, .01f, .001f, .001f};
  EXPECT_THAT(found, ::testing::ElementsAreArray(expected.begin(), expected.end()));
}
TEST_F(LrOps, Cosine) {
  EXPECT_THAT(values(cosine_decay(.5, 2, 5), 6),
              Pointwise(IsNear(), {.5, .5, .4522542, .4522542, .3272542, .3272542}));
}
TEST_F(LrOps, WarmupToANumber) {
  EXPECT_THAT(values(linear_lr_warmup(.5, 4, 0, .5), 6),
              Pointwise(IsNear(), {0., .125, .25, .375, .5, .5}));
}
TEST_F(LrOps, WarmupToAScheduleSharesItsCounter) {
  EXPECT_THAT(values(linear_lr_warmup(piecewise_decay({5, 6}, {.1, .2, .3}), 4, 0, .5), 8),
              Pointwise(IsNear(), {0., .125, .25, .375, .1, .2, .3, .3}));
  EXPECT_EQ(main_->global_block().count("increment"), 1);
}
TEST_F(LrOps, SomeLiveInTheScopeUnderTheNamesOf1x) {
  linear_lr_warmup(piecewise_decay({5}, {.1, .2}), 4, 0, .5);
  for (const char* name : {"learning_rate", "learning_rate_warmup"}) {
    EXPECT_TRUE(main_->global_block().var(name).persistable) << name;
  }
}
TEST_F(LrOps, HaveTheRoleOfASchedule) {
  cosine_decay(.5, 2, 5);
  for (const auto& op : main_->global_block().ops()) EXPECT_EQ(op->role(), kLrSchedRole);
  EXPECT_EQ(print(main_->global_block().op(0)),
            "increment(X=@LR_DECAY_COUNTER@) -> @LR_DECAY_COUNTER@ {op_role=16, step=1.0}");
}

}  // namespace
}  // namespace flotilla::layers
