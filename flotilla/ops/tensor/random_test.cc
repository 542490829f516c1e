#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/testing/check_op.h"
#include "flotilla/testing/moments.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Extents = std::vector<int64_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Random, Distributions) {
  const Extents shape = {100, 1003};
  const Numbers short_shape = {100, 1003};
  for (const DType dtype : {f32, f64}) {
    const Attr code = to_paddle(dtype);
    Moments m = moments(
        make("uniform_random",
             {{"shape", shape}, {"dtype", code}, {"min", -0.5f}, {"max", 1.5f}, {"seed", 7}}));
    EXPECT_NEAR(m.mean, 0.5, 0.01);
    EXPECT_NEAR(m.deviation, 2 / std::sqrt(12), 0.01);
    EXPECT_GE(m.least, -0.5);
    EXPECT_LE(m.largest, 1.5);
    m = moments(
        make("gaussian_random",
             {{"shape", shape}, {"dtype", code}, {"mean", 1.0f}, {"std", 0.5f}, {"seed", 7}}));
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.deviation, 0.5, 0.01);
    EXPECT_LT(m.least, -0.5);
    m = moments(make(
        "truncated_gaussian_random",
        {{"shape", short_shape}, {"dtype", code}, {"mean", 1.0f}, {"std", 0.5f}, {"seed", 7}}));
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.deviation, 0.4398, 0.01);
    EXPECT_GE(m.least, 0);
    EXPECT_LE(m.largest, 2);
    EXPECT_LT(m.least, 0.01);
    EXPECT_GT(m.largest, 1.99);
  }
}

TEST(Random, AnyNumberOfThreadsGivesTheSameNumbers) {
  const int before = threads();
  for (const std::string type : {"uniform_random", "gaussian_random"}) {
    const Attrs attrs = {{"shape", Extents{50001}}, {"seed", 5}};
    set_threads(1);
    const Tensor one = make(type, attrs);
    set_threads(2);
    EXPECT_THAT(make(type, attrs), equal_to(one));
    EXPECT_THAT(make(type, {{"shape", Extents{50001}}, {"seed", 6}}),
                ::testing::Not(equal_to(one)));
  }
  set_threads(before);
}

TEST(Random, WholeNumbers) {
  const Tensor x = make("randint", {{"shape", Extents{10000}}, {"low", -2}, {"high", 3}});
  EXPECT_EQ(x.dtype(), i64);
  std::map<int64_t, int> counts;
  for (const int64_t value : x.span<int64_t>()) ++counts[value];
  EXPECT_EQ(counts.size(), 5u);
  for (const auto& [value, count] : counts) {
    EXPECT_TRUE(-2 <= value && value < 3);
    EXPECT_NEAR(count, 2000, 200);
  }
  std::vector<double> order = values_of(make("randperm", {{"n", 100}}));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], static_cast<double>(i));
  EXPECT_REFUSED(make("randint", {{"shape", Extents{1}}, {"low", 3}, {"high", 3}}),
                 "randint needs low < high, but they are 3 and 3");
}

TEST(Random, InThePlaceOfATensor) {
  const Tensor x = full({100, 100}, 5);
  Moments m = moments(make("uniform_random_inplace", {{"min", 1.0f}, {"max", 3.0f}}, {{"X", x}}));
  EXPECT_NEAR(m.mean, 2, 0.03);
  EXPECT_GE(m.least, 1);
  EXPECT_LE(m.largest, 3);
  m = moments(run_op("gaussian_inplace", {{"x", x}}, {{"mean", 1.0f}, {"std", 0.5f}}).at("out"));
  EXPECT_NEAR(m.mean, 1, 0.03);
  EXPECT_NEAR(m.deviation, 0.5, 0.02);
  m = moments(make("exponential", {{"lambda", 4.0f}}, {{"X", x}}));
  EXPECT_NEAR(m.mean, 0.25, 0.01);
  EXPECT_NEAR(m.deviation, 0.25, 0.02);
  EXPECT_GE(m.least, 0);
  EXPECT_REFUSED(make("exponential", {{"lambda", 0.0f}}, {{"X", x}}),
                 "lambda must be positive, but is 0");
}

TEST(Random, NoGradientFlowsThrough) {
  const Tensor x = uniform({2, 3}, 1, 2);
  for (const char* type : {"uniform_random_inplace", "exponential", "poisson"}) {
    check_op({.type = type, .inputs = {{"X", x}}});
  }
  check_op({.type = "gaussian_inplace", .inputs = {{"x", x}}});
}

}  // namespace
}  // namespace flotilla
