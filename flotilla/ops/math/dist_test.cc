// flotilla/ops/math/dist_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Inputs kInputs = {{"X", tensor({{1, 2}, {3, 4}})}, {"Y", tensor({1, 5})}};

TEST(Dist, KnownValues) {
  const auto dist = [](float p) {
    return values_of(run_op("dist", kInputs, {{"p", p}}).at("Out"));
  };
  // The differences are 0, -3, 2, -1.
  EXPECT_EQ(dist(0), (std::vector<double>{3}));
  EXPECT_EQ(dist(1), (std::vector<double>{6}));
  EXPECT_NEAR(dist(2)[0], std::sqrt(14.0), 1e-6);
  EXPECT_NEAR(dist(3)[0], std::cbrt(36.0), 1e-6);
  EXPECT_EQ(dist(INFINITY), (std::vector<double>{3}));
  EXPECT_EQ(dist(-INFINITY), (std::vector<double>{0}));
}

TEST(Dist, AllKernelsAgree) {
  for (const float p : {0.0f, 1.0f, 1.5f, 2.0f, 3.0f, INFINITY, -INFINITY}) {
    check_op({.type = "dist",
              .inputs = {{"X", uniform({2, 3}, -1, 1)}, {"Y", uniform({2, 3}, -1, 1, 2)}},
              .attrs = {{"p", p}}});
    check_op({.type = "dist",
              .inputs = {{"X", uniform({3, 1}, -1, 1)}, {"Y", uniform({2}, -1, 1, 2)}},
              .attrs = {{"p", p}}});
  }
}

TEST(Dist, TheGradientOfEqualTensorsIsZero) {
  const Tensor x = tensor({1, 2});
  const Inputs inputs = {{"X", x}, {"Y", x}, {"Out", tensor({0})}, {"Out@GRAD", tensor({1})}};
  const OpOptions options = {.outputs = {{"X@GRAD", 1}, {"Y@GRAD", 1}}};
  for (const float p : {0.0f, 0.5f, 1.0f, 2.0f, INFINITY}) {
    const OpResult found = run_op("dist_grad", inputs, {{"p", p}}, options);
    EXPECT_THAT(found.at("X@GRAD"), all_equal_to(0));
    EXPECT_THAT(found.at("Y@GRAD"), all_equal_to(0));
  }
}

TEST(Dist, Refusals) {
  EXPECT_REFUSED(
      build_op("dist", {{"X", tensor({1, 2})}, {"Y", tensor({1, 2, 3})}}),
      "X of shape [2] and Y of shape [3] do not broadcast at axis -1: 2 does not match 3");
  EXPECT_REFUSED(build_op("dist", {{"X", tensor({1})}, {"Y", tensor({1}, f64)}}),
                 "X and Y must have one dtype, but hold f32 and f64");
}

}  // namespace
}  // namespace flotilla
