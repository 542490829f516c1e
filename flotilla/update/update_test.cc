// flotilla/update/update_test.cc
//
// The rules by themselves; the tests in ops/optim run them through the operators.

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <vector>

#include "flotilla/update/adam.h"
#include "flotilla/update/momentum.h"
#include "flotilla/update/norm.h"
#include "flotilla/update/regularize.h"
#include "flotilla/update/rmsprop.h"
#include "flotilla/update/rows.h"
#include "flotilla/update/sgd.h"

namespace flotilla::update {
namespace {

using ::testing::ElementsAre;

// Long enough for whole vectors and a rest.
constexpr size_t kLength = 101;

template <typename T>
std::vector<T> numbers(double start, double step) {
  std::vector<T> made;
  for (size_t i = 0; i < kLength; ++i) {
    made.push_back(static_cast<T>(start + step * static_cast<double>(i % 17)));
  }
  return made;
}

TEST(Update, SgdTakesEveryElement) {
  auto p = numbers<float>(1, 0.1);
  const auto g = numbers<float>(-1, 0.2), before = p;
  sgd(p, g, 0.5f);
  for (size_t i = 0; i < kLength; ++i) EXPECT_FLOAT_EQ(p[i], before[i] - 0.5f * g[i]);
}

TEST(Update, AdamInSingleAndDoublePrecision) {
  auto p = numbers<float>(1, 0.1), m = numbers<float>(0, 0.01), v = numbers<float>(0.1, 0.02);
  const auto g = numbers<float>(-1, 0.2);
  auto pd = numbers<double>(1, 0.1), md = numbers<double>(0, 0.01), vd = numbers<double>(0.1, 0.02);
  const auto gd = numbers<double>(-1, 0.2);
  for (int step = 1; step <= 3; ++step) {
    const double power1 = std::pow(0.9, step), power2 = std::pow(0.999, step);
    adam(p, g, m, v,
         {.lr = 0.1f,
          .beta1_power = static_cast<float>(power1),
          .beta2_power = static_cast<float>(power2)});
    adam(pd, gd, md, vd, {.lr = 0.1, .beta1_power = power1, .beta2_power = power2});
  }
  for (size_t i = 0; i < kLength; ++i) EXPECT_NEAR(p[i], pd[i], 2e-5) << i;
}

TEST(Update, AnEmptyGradientStandsForZeros) {
  const auto zeros = numbers<float>(0, 0);
  for (const bool nesterov : {false, true}) {
    auto p = numbers<float>(1, 0.1), v = numbers<float>(0.1, 0.02), p2 = p, v2 = v;
    const Momentum<float> rule = {.lr = 0.1f, .mu = 0.9f, .nesterov = nesterov, .l2 = 0.01f};
    momentum(p, zeros, v, rule);
    momentum(p2, {}, v2, rule);
    EXPECT_EQ(p, p2);
    EXPECT_EQ(v, v2);
  }
  auto p = numbers<float>(1, 0.1), m = numbers<float>(0, 0.01), v = numbers<float>(0.1, 0.02);
  auto p2 = p, m2 = m, v2 = v;
  adam(p, zeros, m, v, {.lr = 0.1f});
  adam(p2, {}, m2, v2, {.lr = 0.1f});
  EXPECT_EQ(p, p2);
  EXPECT_EQ(m, m2);
  EXPECT_EQ(v, v2);
  auto step = numbers<float>(0.1, 0.01), step2 = step;
  rmsprop(p, zeros, v, m, step, {.lr = 0.1f, .momentum = 0.5f});
  rmsprop(p2, {}, v2, m2, step2, {.lr = 0.1f, .momentum = 0.5f});
  EXPECT_EQ(p, p2);
  EXPECT_EQ(step, step2);
}

TEST(Update, DecayIsAddedToTheGradient) {
  const std::array<float, 3> p = {2, -4, 0};
  std::array<float, 3> g = {1, 1, 1};
  add_decay(p, g, 0, 0.5f);
  EXPECT_THAT(g, ElementsAre(2, -1, 1));
  add_decay(p, g, 0.25f, 0);
  EXPECT_THAT(g, ElementsAre(2.25f, -1.25f, 1));
}

TEST(Update, SumOfSquares) {
  const auto values = numbers<float>(-1, 0.2);
  double expected = 0;
  for (const float value : values) expected += static_cast<double>(value) * value;
  EXPECT_NEAR(sum_of_squares(values), expected, 1e-9);
  EXPECT_EQ(sum_of_squares(std::span<const float>()), 0);
}

TEST(Update, MergedRowsAreSortedAndSummedInOrder) {
  const std::array<int64_t, 5> rows = {7, 2, 7, 0, 2};
  const std::array<float, 10> values = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50};
  std::array<int64_t, 5> merged_rows = {}, order = {};
  std::array<float, 10> merged = {};
  EXPECT_EQ(merge_rows(rows, values, 2, merged_rows, merged, order), 3);
  EXPECT_THAT(std::span(merged_rows).first(3), ElementsAre(0, 2, 7));
  EXPECT_THAT(std::span(merged).first(6), ElementsAre(4, 40, 7, 70, 4, 40));
}

TEST(Update, MergingNothingGivesNothing) {
  EXPECT_EQ(merge_rows({}, std::span<const float>(), 3, {}, std::span<float>(), {}), 0);
}

}  // namespace
}  // namespace flotilla::update
