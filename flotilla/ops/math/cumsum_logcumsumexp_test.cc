// flotilla/ops/math/cumsum_logcumsumexp_test.cc

#include <cmath>
#include <limits>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Cumsum, KnownValues) {
  const Tensor x = tensor({{1, 2, 2}, {3, 3, 1}});
  const auto cumsum = [&](Attrs attrs) { return run_op("cumsum", {{"X", x}}, attrs).at("Out"); };
  EXPECT_THAT(cumsum({}), equal_to(tensor({{1, 3, 5}, {3, 6, 7}})));
  EXPECT_THAT(cumsum({{"axis", 1}, {"exclusive", true}, {"reverse", true}}),
              equal_to(tensor({{4, 2, 0}, {4, 1, 0}})));
  EXPECT_THAT(cumsum({{"flatten", true}}), equal_to(tensor({1, 3, 5, 8, 11, 12})));
}

TEST(Cumsum, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        check_op({.type = "cumsum",
                  .inputs = {{"X", uniform({3, 4, 2}, -2, 2)}},
                  .attrs = {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}});
      }
    }
  }
  check_op(
      {.type = "cumsum", .inputs = {{"X", uniform({3, 4}, -2, 2)}}, .attrs = {{"flatten", true}}});
}

constexpr double kLowest = std::numeric_limits<float>::lowest();

Tensor scanned(const Tensor& x, const Attrs& attrs = {}) {
  return run_op("logcumsumexp", {{"X", x}}, attrs).at("Out");
}

// X@GRAD where the gradient of every element of Out is 1.
Tensor gradient(const Tensor& x, const Tensor& out) {
  return run_op("logcumsumexp_grad",
                {{"X", x}, {"Out", out}, {"Out@GRAD", full(out.shape(), 1, out.dtype())}})
      .at("X@GRAD");
}

TEST(Logcumsumexp, KnownValues) {
  const double e = std::exp(1), a = std::log(1 + e), b = std::log(1 + e + e * e);
  const Tensor x = tensor({{0, 1, 2}});
  EXPECT_THAT(scanned(x), near(tensor({{0, a, b}}), 1e-6));
  EXPECT_THAT(scanned(x, {{"flatten", true}}), near(tensor({0, a, b}), 1e-6));
  EXPECT_THAT(scanned(x, {{"axis", 0}}), near(x, 1e-6));
  EXPECT_THAT(scanned(x, {{"reverse", true}}), near(tensor({{b, 1 + a, 2}}), 1e-6));
  EXPECT_THAT(scanned(x, {{"exclusive", true}}), near(tensor({{kLowest, 0, a}}), 1e-6));
}

TEST(Logcumsumexp, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    for (const bool reverse : {false, true}) {
      check_op({.type = "logcumsumexp",
                .inputs = {{"X", uniform({3, 4, 2}, -2, 2)}},
                .attrs = {{"axis", axis}, {"reverse", reverse}}});
    }
  }
  check_op({.type = "logcumsumexp",
            .inputs = {{"X", uniform({3, 4}, -2, 2)}},
            .attrs = {{"flatten", true}}});
}

// The lowest number, which the sum of nothing is, leaves finite differences no digits.
TEST(Logcumsumexp, ExclusiveGradientsFollowTheFormula) {
  const Tensor x = uniform({5}, -2, 2, 1, f64), dout = uniform({5}, -1, 1, 2, f64);
  const std::vector<double> in = values_of(x), g = values_of(dout);
  for (const bool reverse : {false, true}) {
    const Attrs attrs = {{"exclusive", true}, {"reverse", reverse}};
    const Tensor out = scanned(x, attrs);
    const std::vector<double> y = values_of(out);
    std::vector<double> expected(5, 0);
    for (size_t i = 0; i < 5; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        if (reverse ? j < i : j > i) expected[i] += g[j] * std::exp(in[i] - y[j]);
      }
    }
    const Inputs inputs = {{"X", x}, {"Out", out}, {"Out@GRAD", dout}};
    EXPECT_THAT(run_op("logcumsumexp_grad", inputs, attrs).at("X@GRAD"), near(expected, 1e-12));
  }
}

TEST(Logcumsumexp, NothingOverflows) {
  const Tensor x = tensor({1000, 2000, -3000, 1e30});
  const Tensor out = scanned(x);
  EXPECT_THAT(out, equal_to(tensor({1000, 2000, 2000, 1e30})));
  EXPECT_THAT(gradient(x, out), equal_to(tensor({1, 2, 0, 1})));
  // Far below zero, where exp is 0, and falling.
  const Tensor low = tensor({-1e4, -1e4, -2e4});
  EXPECT_THAT(scanned(low), near({-1e4, -1e4 + std::log(2), -1e4 + std::log(2)}, 1e-3));
  EXPECT_THAT(gradient(low, scanned(low)), near({2, 1, 0}, 2e-3));
}

TEST(Logcumsumexp, LongSumsKeepTheirDigits) {
  // Adding logarithms one by one would round each sum to a multiple of 2^-14.
  const Tensor out = scanned(full({10000}, 1000));
  EXPECT_NEAR(values_of(out).back(), 1000 + std::log(10000), 1e-3);
}

TEST(Logcumsumexp, InfinitiesAndNan) {
  EXPECT_THAT(scanned(tensor({-INFINITY, 1, INFINITY, INFINITY, 2})),
              equal_to(tensor({kLowest, 1, INFINITY, INFINITY, INFINITY})));
  const std::vector<double> found = values_of(scanned(tensor({1, NAN, 2})));
  EXPECT_EQ(found[0], 1);
  EXPECT_TRUE(std::isnan(found[1]) && std::isnan(found[2]));
}

TEST(Logcumsumexp, Refusals) {
  EXPECT_REFUSED(build_op("logcumsumexp", {{"X", full({2, 3}, 1)}}, {{"axis", 2}}),
                 "an axis of a tensor of shape [2, 3] must lie in [-2, 2), but is 2");
  EXPECT_REFUSED(
      scanned(ints({1, 2})),
      "no kernel for logcumsumexp on cpu with dtype i64. Its kernels are: cpu f32, cpu f64");
}

}  // namespace
}  // namespace flotilla
