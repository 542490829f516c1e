// flotilla/ops/nn/rrelu_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Rrelu, OneSlopeInTests) {
  const Attrs attrs = {{"is_test", true}, {"lower", 0.25f}, {"upper", 0.75f}};
  const OpResult found = run_op("rrelu", {{"X", tensor({-2, 0, 3}, {3})}}, attrs);
  EXPECT_THAT(found.at("Out"), near({-1, 0, 3}, 1e-6));
  EXPECT_THAT(found.at("Noise"), near({0.5, 1, 1}, 1e-6));
  check_op({.type = "rrelu",
            .inputs = {{"X", uniform({4, 5}, -1, 1)}},
            .attrs = attrs,
            .integers = false});
}

TEST(Rrelu, DrawsSlopes) {
  const OpResult found = run_op("rrelu", {{"X", full({1000}, -1)}});
  const Tensor& noise = found.at("Noise");
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const double slope = static_cast<double>(noise.data<float>()[i]);
    EXPECT_TRUE(0.125 <= slope && slope <= 1.0 / 3) << slope;
    EXPECT_EQ(found.at("Out").data<float>()[i], -noise.data<float>()[i]);
    sum += slope;
  }
  EXPECT_NEAR(sum / 1000, (0.125 + 1.0 / 3) / 2, 0.01);
}

TEST(Rrelu, TheGradientHasTheSameSlopes) {
  const Tensor x = tensor({-2, 4}, {2});
  EXPECT_THAT(
      run_op("rrelu_grad",
             {{"X", x}, {"Noise", tensor({0.25, 1}, {2})}, {"Out@GRAD", tensor({8, 3}, {2})}})
          .at("X@GRAD"),
      near({2, 3}, 0));
}

TEST(Rrelu, Refusals) {
  EXPECT_REFUSED(build_op("rrelu", {{"X", full({2}, 1)}}, {{"lower", 0.5f}}),
                 "lower and upper must lie in this order in [0, 1], but are 0.5 and 0.33333334");
}

}  // namespace
}  // namespace flotilla
