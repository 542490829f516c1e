#include "flotilla/layers/arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class Arithmetic : public LayersTest {
 protected:
  Tensor computed(Variable y, const Tensor& x) { return run({{"x", x}}, {y.name()})[0]; }

  Variable x_ = data("x", {2, 2});
};

TEST_F(Arithmetic, OneSideMayBeANumber) {
  pow(x_, 2);
  pow(x_, x_);
  lerp(x_, x_, 0.5);
  EXPECT_EQ(ops(), text(R"(
    pow(X=x) -> pow_0.tmp_0 {factor=2.0}
    elementwise_pow(X=x, Y=x) -> elementwise_pow_0.tmp_0 {axis=-1}
    fill_constant() -> fill_constant_0.tmp_0 {dtype=5, force_cpu=false, shape=[1L], str_value="0.5", value=0.5}
    lerp(Weight=fill_constant_0.tmp_0, X=x, Y=x) -> lerp_0.tmp_0
  )"));
  const Variable one = data("one", {1});
  EXPECT_EQ(increment(one).name(), "one");
  EXPECT_EQ(increment(one, 1, false).name(), "increment_0.tmp_0");
}

TEST_F(Arithmetic, ComputesWhatItSays) {
  const Tensor x = tensor({{3, 4}, {0, 1}});
  EXPECT_THAT(computed(hypot(x_, x_), x), near({4.242641, 5.656854, 0, 1.414214}, 1e-5));
  EXPECT_THAT(computed(logaddexp(x_, x_), x), near({3.693147, 4.693147, 0.693147, 1.693147}, 1e-5));
  EXPECT_THAT(computed(variance(x_, {1}), x), near({0.5, 0.5}, 1e-6));
  EXPECT_THAT(computed(standard_deviation(x_, {}, false), x), near({1.581139}, 1e-5));
  EXPECT_THAT(computed(trapezoid(x_), x), near({3.5, 0.5}, 1e-6));
  EXPECT_THAT(computed(l2_normalize(x_, {1}), x), near({0.6, 0.8, 0, 1}, 1e-5));
  EXPECT_THAT(computed(masked_fill(x_, x_ > 2.0, 7), x), near({7, 7, 0, 1}, 0));
}

TEST_F(Arithmetic, SumsOverAxes) {
  EXPECT_EQ(sum_over(x_, {0}).shape(), Shape{2});
  EXPECT_EQ(sum_as(x_ > 0.0, {}, {}).dtype(), i64);
  EXPECT_EQ(count_nonzero(x_, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(running_extremes("cummax", x_).second.shape(), Shape{4});
  EXPECT_REFUSED(cumprod(x_, {}), "cumprod needs dim, the axis along which it multiplies");
  EXPECT_REFUSED(trapezoid(x_, x_, 2), "trapezoid takes one of x and dx");
}

TEST_F(Arithmetic, WhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = tensor({{nan, 1}, {2, inf}});
  EXPECT_THAT(computed(nan_to_num(x_, 5, 9), x), near({5, 1, 2, 9}, 0));
  EXPECT_THAT(computed(nansum(x_, {0}), tensor({{nan, 1}, {2, 3}})), near({2, 4}, 0));
  EXPECT_THAT(computed(nanmean(x_, {0}), tensor({{nan, 1}, {2, 3}})), near({2, 2}, 0));
}

TEST_F(Arithmetic, TolerancesAreText) {
  closeness("isclose", x_, x_, 0, 1e-8);
  EXPECT_EQ(ops(), text(R"(
    isclose(Input=x, Other=x) -> isclose_0.tmp_0 {atol="1e-08", equal_nan=false, rtol="0"}
  )"));
}

}  // namespace
}  // namespace flotilla::layers
