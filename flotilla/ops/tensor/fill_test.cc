// Operators that make tensors: fill.cc, random.cc; and top_k.cc.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Extents = std::vector<int64_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Fill, Constants) {
  const Attr shape = Extents{2, 2};
  EXPECT_THAT(make("fill_constant", {{"shape", shape}, {"value", 1.5f}}),
              equal_to(full({2, 2}, 1.5)));
  EXPECT_THAT(
      make("fill_constant", {{"shape", Extents{1}}, {"value", 1.9f}, {"dtype", to_paddle(i64)}}),
      equal_to(ints({1})));
  // More digits than a float has.
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}},
                                     {"str_value", std::string("9007199254740993")},
                                     {"dtype", to_paddle(i64)}}),
              equal_to(ints({9007199254740993})));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("1e-3")}}),
              near({1e-3}, 1e-9));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("-inf")}}),
              equal_to({-INFINITY}));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{}}, {"value", 2.0f}}), has_shape({1}));
  EXPECT_THAT(make("fill_constant",
                   {{"shape", Extents{2}}, {"value", 1.0f}, {"dtype", to_paddle(boolean)}}),
              equal_to(bools({true, true})));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{2}}}, {{"ValueTensor", tensor({4})}}),
              equal_to({4, 4}));
  EXPECT_REFUSED(make("fill_constant", {{"shape", Extents{1}},
                                        {"str_value", std::string("18446744073709551616")},
                                        {"dtype", to_paddle(i64)}}),
                 "1.8446744073709552e+19 is no whole number of 64 bits");
  EXPECT_REFUSED(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("two")}}),
                 "str_value must be a number, but is \"two\"");
}

TEST(Fill, LikeAnotherTensor) {
  const Tensor x = uniform({3, 2}, 0, 1);
  EXPECT_THAT(make("fill_zeros_like", {}, {{"X", x}}), equal_to(full({3, 2}, 0)));
  EXPECT_THAT(make("fill_any_like", {{"value", 2.0f}}, {{"X", x}}), equal_to(full({3, 2}, 2)));
  EXPECT_THAT(make("fill_any_like", {{"value", 2.0f}, {"dtype", to_paddle(i64)}}, {{"X", x}}),
              equal_to(full({3, 2}, 2, i64)));
  EXPECT_THAT(
      make("fill_constant_batch_size_like",
           {{"shape", Numbers{-1, 4}}, {"value", 2.0f}, {"input_dim_idx", 0}}, {{"Input", x}}),
      equal_to(full({3, 4}, 2)));
}

TEST(Fill, AnyValueOverwritesATensor) {
  EXPECT_THAT(make("fill_any", {{"value", 2.5f}}, {{"X", uniform({3, 2}, 0, 1)}}),
              equal_to(full({3, 2}, 2.5)));
  EXPECT_THAT(make("fill_any", {{"value", 3.0f}}, {{"X", ints({1, 2}, i32)}}),
              equal_to(ints({3, 3}, i32)));
  check_op({.type = "fill_any", .inputs = {{"X", uniform({3}, 0, 1)}}, .attrs = {{"value", 2.0f}}});
}

TEST(Fill, EmptyHoldsZeros) {
  EXPECT_THAT(make("empty", {{"shape", Extents{2, 3}}}), equal_to(full({2, 3}, 0)));
  EXPECT_THAT(make("empty", {{"dtype", to_paddle(i64)}}, {{"ShapeTensor", ints({2})}}),
              equal_to(ints({0, 0})));
}

TEST(Fill, ElementsOfAnAttribute) {
  const Attr values = std::vector<float>{0, 1.5f, -2};
  const Attrs attrs = {{"value", values}, {"shape", Numbers{3}}};
  EXPECT_THAT(make("fill", attrs), equal_to({0, 1.5, -2}));
  Attrs whole = attrs;
  whole["dtype"] = to_paddle(i64);
  EXPECT_THAT(make("fill", whole), equal_to(ints({0, 1, -2})));
  EXPECT_REFUSED(make("fill", {{"value", values}, {"shape", Numbers{2}}}),
                 "fill needs 2 values in value for shape [2], but has 3");
}

TEST(Fill, Logspace) {
  const auto logspace = [](const Tensor& start, const Tensor& stop, int64_t n, const Tensor& base,
                           int32_t dtype = -1) {
    return make("logspace", {{"dtype", dtype}},
                {{"Start", start}, {"Stop", stop}, {"Num", ints({n}, i32)}, {"Base", base}});
  };
  EXPECT_THAT(logspace(tensor({0}), tensor({3}), 4, tensor({10})),
              near(tensor({1, 10, 100, 1000}), 1e-6));
  EXPECT_THAT(logspace(tensor({3}), tensor({1}), 1, tensor({2})), equal_to({8}));
  EXPECT_THAT(logspace(ints({0}), ints({4}), 3, ints({2})), equal_to(ints({1, 4, 16})));
  EXPECT_THAT(logspace(tensor({0}), tensor({1}), 2, tensor({5}), to_paddle(f64)),
              equal_to(tensor({1, 5}, f64)));
  EXPECT_REFUSED(logspace(tensor({0}), tensor({1}), 0, tensor({2})),
                 "Num of linspace must be positive, but is 0");
}

TEST(Fill, AssignValue) {
  EXPECT_THAT(make("assign_value", {{"shape", Numbers{2}},
                                    {"dtype", to_paddle(f32)},
                                    {"fp32_values", std::vector<float>{1.5f, 2}}}),
              equal_to({1.5, 2}));
  EXPECT_THAT(
      make("assign_value",
           {{"shape", Numbers{2}}, {"dtype", to_paddle(boolean)}, {"bool_values", Numbers{0, 1}}}),
      equal_to(bools({false, true})));
  EXPECT_REFUSED(
      make("assign_value",
           {{"shape", Numbers{3}}, {"dtype", to_paddle(i64)}, {"int64_values", Extents{1, 2}}}),
      "assign_value needs 3 values in int64_values for shape [3], but has 2");
}

struct Moments {
  double mean = 0, deviation = 0, least = 0, largest = 0;
};

Moments moments(const Tensor& tensor) {
  const std::vector<double> x = values_of(tensor);
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  const auto [least, largest] = std::minmax_element(x.begin(), x.end());
  return {mean, std::sqrt(squares / n), *least, *largest};
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

// The shares of a normal distribution cut at two deviations: the inverse of the error function is
// right everywhere, not only in the mean.
TEST(Random, QuantilesOfTheTruncatedNormal) {
  std::vector<double> x =
      values_of(make("truncated_gaussian_random", {{"shape", Numbers{200000}}, {"seed", 3}}));
  std::sort(x.begin(), x.end());
  const double reach = std::erf(std::sqrt(2.0));
  for (const double z : {-1.9, -1.0, -0.3, 0.0, 0.5, 1.5}) {
    const double below = static_cast<double>(std::lower_bound(x.begin(), x.end(), z) - x.begin());
    EXPECT_NEAR(below / 200000, 0.5 + 0.5 * std::erf(z / std::sqrt(2.0)) / reach, 0.004) << z;
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

TEST(Random, Diagonal) {
  const Tensor x =
      make("uniform_random",
           {{"shape", Extents{3, 3}}, {"diag_num", 3}, {"diag_step", 3}, {"diag_val", 9.0f}});
  const std::vector<double> values = values_of(x);
  EXPECT_EQ(values[0], 9);
  EXPECT_EQ(values[4], 9);
  EXPECT_EQ(values[8], 9);
  EXPECT_LT(values[1], 1);
}

TEST(Random, Bernoulli) {
  const Moments m = moments(run_op("bernoulli", {{"X", full({10000}, 0.3)}}).at("Out"));
  EXPECT_NEAR(m.mean, 0.3, 0.02);
  EXPECT_EQ(m.least, 0);
  EXPECT_EQ(m.largest, 1);
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

TEST(Random, Poisson) {
  for (const double rate : {0.3, 20.0, 600.0, 3e6}) {
    const Moments m = moments(make("poisson", {}, {{"X", full({20000}, rate)}}));
    EXPECT_NEAR(m.mean, rate, 0.03 * std::sqrt(rate)) << rate;
    EXPECT_NEAR(m.deviation, std::sqrt(rate), 0.02 * std::sqrt(rate)) << rate;
    EXPECT_GE(m.least, 0);
    EXPECT_EQ(m.largest, std::round(m.largest));
  }
  EXPECT_THAT(make("poisson", {}, {{"X", full({3}, 0)}}), equal_to({0, 0, 0}));
  EXPECT_REFUSED(make("poisson", {}, {{"X", tensor({1, -2})}}),
                 "poisson takes no negative numbers, but the one at place 1 is -2");
}

TEST(Random, Multinomial) {
  const Tensor weights = tensor({{0, 2, 0, 0}, {1, 0, 3, 0}});
  const Tensor drawn =
      make("multinomial", {{"num_samples", 8000}, {"replacement", true}}, {{"X", weights}});
  EXPECT_THAT(drawn, has_shape({2, 8000}));
  std::map<int64_t, int> counts;
  for (int i = 0; i < 8000; ++i) {
    EXPECT_EQ(drawn.span<int64_t>()[i], 1);
    ++counts[drawn.span<int64_t>()[8000 + i]];
  }
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[2], 6000, 150);
  const Tensor once = make("multinomial", {{"num_samples", 3}}, {{"X", tensor({1, 0, 3, 9})}});
  std::vector<double> all = values_of(once);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, std::vector<double>({0, 2, 3}));
  EXPECT_REFUSED(make("multinomial", {{"num_samples", 2}}, {{"X", weights}}),
                 "1 of 4 columns have a weight, too few for 2 samples");
  EXPECT_REFUSED(make("multinomial", {}, {{"X", tensor({1, -1})}}),
                 "the weights of multinomial must be finite and not negative, but one is -1");
  EXPECT_REFUSED(build_op("multinomial", {{"X", weights}}, {{"num_samples", 0}}),
                 "num_samples must be positive, but is 0");
  EXPECT_REFUSED(build_op("multinomial", {{"X", full({1, 1, 1}, 1)}}),
                 "X must be a vector or a matrix, but has shape [1, 1, 1]");
}

TEST(Random, Seed) {
  EXPECT_THAT(make("seed", {{"seed", 7}}), equal_to(ints({7}, i32)));
  EXPECT_THAT(make("seed", {}), has_shape({1}));
  EXPECT_GE(values_of(make("seed", {}))[0], 0);
}

TEST(TopK, KnownValues) {
  const Tensor x = tensor({{3, 1, 3, 2}, {0, 5, 4, 5}});
  OpResult found = run_op("top_k", {{"X", x}}, {{"k", 2}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{3, 3}, {5, 5}})));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({0, 2, 1, 3}, Shape{2, 2})));
  found = run_op("top_k_v2", {{"X", x}}, {{"k", 1}, {"axis", 0}, {"largest", false}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{0, 1, 3, 2}})));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({1, 0, 0, 0}, Shape{1, 4})));
  found = run_op("argsort", {{"X", x}}, {{"axis", -1}});
  EXPECT_THAT(found.at("Indices"), equal_to(ints({1, 3, 0, 2, 0, 2, 1, 3}, Shape{2, 4})));
  EXPECT_THAT(run_op("argsort", {{"X", x}}, {{"descending", true}}).at("Out"),
              equal_to(tensor({{3, 3, 2, 1}, {5, 5, 4, 0}})));
}

TEST(TopK, NotANumberIsTheLargest) {
  EXPECT_THAT(run_op("top_k_v2", {{"X", tensor({1, NAN, 2})}}, {{"k", 2}}).at("Indices"),
              equal_to(ints({1, 2})));
}

TEST(TopK, AllKernelsAgree) {
  const Tensor x = uniform({3, 7, 2}, -5, 5);
  check_op({.type = "top_k", .inputs = {{"X", x}}, .attrs = {{"k", 2}}});
  for (const int axis : {0, 1, -1}) {
    for (const bool largest : {true, false}) {
      check_op({.type = "top_k_v2",
                .inputs = {{"X", x}},
                .attrs = {{"k", 2}, {"axis", axis}, {"largest", largest}}});
      check_op({.type = "argsort",
                .inputs = {{"X", x}},
                .attrs = {{"axis", axis}, {"descending", largest}}});
    }
  }
  // More than are kept by insertion.
  check_op({.type = "top_k_v2",
            .inputs = {{"X", uniform({2, 50}, -5, 5)}},
            .attrs = {{"k", 40}},
            .integers = false});
}

TEST(TopK, RefusesMoreThanThereAre) {
  EXPECT_REFUSED(build_op("top_k", {{"X", full({2, 3}, 0)}}, {{"k", 4}}),
                 "k must lie in [1, 3] because X has shape [2, 3], but k is 4");
}

}  // namespace
}  // namespace flotilla
