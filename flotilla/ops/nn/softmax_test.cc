#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Softmax, KnownValues) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({0.0900, 0.2447, 0.6652}, 1e-4));
  EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({-2.40761, -1.40761, -0.40761}, 1e-5));
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1000, 1000})}}).at("Out"), near({0.5, 0.5}, 1e-6));
  // As in Paddle, whose numbers these are.
  for (const DType dtype : {f32, f64}) {
    EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1000, 0}, dtype)}}).at("Out"),
                near({0, -64}, 1e-5));
    const Tensor columns = converted(tensor({{0, 0}, {-70, -60}, {0, -100}}), dtype);
    EXPECT_THAT(run_op("log_softmax", {{"X", columns}}, {{"axis", 0}}).at("Out"),
                near({-std::log(2.0), 0, -std::log(2.0) - 64, -60, -std::log(2.0), -64}, 1e-4));
  }
}

// No element counts as more than 64 below the largest, whichever way the slices lie.
TEST(Softmax, IsNeverZero) {
  for (const DType dtype : {f32, f64}) {
    const Tensor rows = tensor({{0, 100, 70}, {0, 100, 100}}, dtype);
    std::vector<double> logarithms = values_of(run_op("softmax", {{"X", rows}}).at("Out"));
    for (double& p : logarithms) p = std::log(p);
    const double half = std::log(0.5);
    EXPECT_THAT(from_values(logarithms, {6}, f64),
                near({-64, 0, -30, -64 + half, half, half}, 1e-4));
    const Tensor columns = tensor({{0, 5}, {100, 5}}, dtype);
    EXPECT_GT(values_of(run_op("softmax", {{"X", columns}}, {{"axis", 0}}).at("Out"))[0], 1.6e-28);
  }
}

// NaN, infinity, or nothing but -inf: NaN all over the slice, and in no other.
TEST(Softmax, NanAndInfinitySpreadOverTheirSlice) {
  const std::vector<std::vector<double>> special = {{1, NAN, 2},
                                                    {NAN, 1, 2},
                                                    {1, INFINITY, 2},
                                                    {INFINITY, INFINITY, 0},
                                                    {-INFINITY, -INFINITY, -INFINITY}};
  for (const DType dtype : {f32, f64}) {
    for (const std::string type : {"softmax", "log_softmax"}) {
      for (const std::vector<double>& row : special) {
        // One row of four is special; the others hold a -inf, which is not.
        const Tensor x =
            tensor({1, 2, 3, row[0], row[1], row[2], 0, -INFINITY, 1, 3, 3, 3}, {4, 3}, dtype);
        const Tensor y = run_op(type, {{"X", x}}).at("Out");
        const Tensor dx =
            run_op(type + "_grad", {{"Out", y}, {"Out@GRAD", full({4, 3}, 0.5, dtype)}})
                .at("X@GRAD");
        for (size_t i = 0; i < 12; ++i) {
          const bool inside = i / 3 == 1;
          EXPECT_EQ(std::isnan(values_of(y)[i]), inside) << type << " " << i;
          EXPECT_EQ(std::isnan(values_of(dx)[i]), inside) << type << " " << i;
        }
        EXPECT_NEAR(values_of(y)[9], type == "softmax" ? 1.0 / 3 : -std::log(3.0), 1e-6);
      }
    }
  }
}

TEST(Softmax, AllKernelsAgreeOnEveryAxis) {
  for (const std::string type : {"softmax", "log_softmax"}) {
    for (const int axis : {-1, 0, 1, 2}) {
      check_op(
          {.type = type, .inputs = {{"X", uniform({3, 4, 5}, -4, 4)}}, .attrs = {{"axis", axis}}});
    }
  }
}

TEST(Softmax, RefusesAnAxisBeyondTheRank) {
  EXPECT_REFUSED(build_op("softmax", {{"X", uniform({2, 3}, 0, 1)}}, {{"axis", 2}}),
                 "axis must lie in [-2, 2) because X has shape [2, 3], but axis is 2");
}

TEST(SoftmaxMask, KnownValues) {
  const Tensor x = tensor({1, 1, 2, 5}, {1, 2, 1, 2});
  const Tensor mask = tensor({0, -1e30}, {1, 1, 1, 2});
  EXPECT_THAT(run_op("fused_softmax_mask", {{"X", x}, {"Mask", mask}}).at("Out"),
              near(tensor({1, 0, 1, 0}, {1, 2, 1, 2}), 1e-6));
  const Tensor square = tensor({1, 9, 2, 2}, {1, 1, 2, 2});
  EXPECT_THAT(run_op("fused_softmax_mask_upper_triangle", {{"X", square}}).at("Out"),
              near(tensor({1, 0, 0.5, 0.5}, {1, 1, 2, 2}), 0));
}

TEST(SoftmaxMask, AllKernelsAgree) {
  check_op({.type = "fused_softmax_mask",
            .inputs = {{"X", uniform({2, 2, 2, 3}, -1, 1)}, {"Mask", uniform({2, 1, 2, 3}, -2, 1)}},
            .integers = false});
  check_op({.type = "fused_softmax_mask_upper_triangle",
            .inputs = {{"X", uniform({2, 2, 3, 3}, -1, 1)}},
            .integers = false});
}

TEST(SoftmaxMask, PaddleCallsTheResultSoftmaxInTheGradient) {
  const Tensor out = tensor({0.25, 0.75}, {1, 1, 1, 2}), dout = tensor({1, 0}, {1, 1, 1, 2});
  for (const char* slot : {"Out", "Softmax"}) {
    EXPECT_THAT(run_op("fused_softmax_mask_grad", {{slot, out}, {"Out@GRAD", dout}}).at("X@GRAD"),
                near(tensor({0.1875, -0.1875}, {1, 1, 1, 2}), 1e-6));
  }
}

TEST(SoftmaxMask, Refusals) {
  const Tensor x = full({2, 2, 2, 3}, 1);
  EXPECT_REFUSED(build_op("fused_softmax_mask", {{"X", x}, {"Mask", x}}),
                 "Mask must have the shape of X with one head, but they are [2, 2, 2, 3] and "
                 "[2, 2, 2, 3]");
  EXPECT_REFUSED(build_op("fused_softmax_mask_upper_triangle", {{"X", x}}),
                 "X must have as many rows as columns, but has shape [2, 2, 2, 3]");
  EXPECT_REFUSED(build_op("fused_softmax_mask_upper_triangle", {{"X", full({2, 2}, 1)}}),
                 "X must have four axes, but has shape [2, 2]");
}

}  // namespace
}  // namespace flotilla
