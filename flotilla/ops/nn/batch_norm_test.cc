#include <gmock/gmock.h>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Inputs inputs_for(const Tensor& x, int64_t channels) {
  return {{"X", x},
          {"Scale", uniform({channels}, 0.5, 1.5, 2)},
          {"Bias", uniform({channels}, -1, 1, 3)},
          {"Mean", uniform({channels}, -0.1, 0.1, 4)},
          {"Variance", uniform({channels}, 0.5, 1.5, 5)}};
}

const OpOptions kAll = {
    .outputs = {
        {"Y", 1}, {"MeanOut", 1}, {"VarianceOut", 1}, {"SavedMean", 1}, {"SavedVariance", 1}}};

TEST(BatchNorm, KnownValues) {
  const auto result = run_op("batch_norm",
                             {{"X", tensor({{1, 10}, {3, 30}})},
                              {"Scale", tensor({1, 2})},
                              {"Bias", tensor({0, 1})},
                              {"Mean", tensor({0, 0})},
                              {"Variance", tensor({1, 1})}},
                             {{"epsilon", 0.0f}}, kAll);
  EXPECT_THAT(result.at("Y"), near({-1, -1, 1, 3}, 1e-5));
  EXPECT_THAT(result.at("SavedMean"), near({2, 20}, 1e-6));
  EXPECT_THAT(result.at("SavedVariance"), near({1, 0.1}, 1e-6));
  EXPECT_THAT(result.at("MeanOut"), near({0.2, 2}, 1e-6));
  EXPECT_THAT(result.at("VarianceOut"), near({1, 10.9}, 1e-5));
}

TEST(BatchNorm, InferenceUsesTheRunningStatistics) {
  EXPECT_THAT(run_op("batch_norm",
                     {{"X", tensor({3, 5}, Shape{2, 1})},
                      {"Scale", tensor({2})},
                      {"Bias", tensor({1})},
                      {"Mean", tensor({1})},
                      {"Variance", tensor({4})}},
                     {{"is_test", true}, {"epsilon", 0.0f}})
                  .at("Y"),
              near({3, 5}, 1e-6));
}

TEST(BatchNorm, AllKernelsAgreeOnEveryShape) {
  for (const Shape& shape :
       {Shape{6, 3}, Shape{4, 20}, Shape{2, 3, 5, 4}, Shape{3, 17, 3, 3}, Shape{2, 4, 7}}) {
    check_op({.type = "batch_norm",
              .inputs = inputs_for(uniform(shape, -2, 2), shape[1]),
              .outputs = kAll.outputs});
    check_op({.type = "batch_norm",
              .inputs = inputs_for(uniform(shape, -2, 2), shape[1]),
              .attrs = {{"use_global_stats", true}},
              .outputs = kAll.outputs});
    check_op({.type = "batch_norm",
              .inputs = inputs_for(uniform(shape, -2, 2), shape[1]),
              .attrs = {{"is_test", true}},
              .outputs = kAll.outputs});
  }
  check_op({.type = "batch_norm",
            .inputs = inputs_for(uniform({2, 4, 3, 18}, -2, 2), 18),
            .attrs = {{"data_layout", std::string("NHWC")}},
            .outputs = kAll.outputs});
}

TEST(BatchNorm, RefusesAScaleOfAnotherSize) {
  Inputs inputs = inputs_for(uniform({2, 3, 4, 4}, 0, 1), 3);
  inputs["Scale"] = uniform({4}, 0, 1);
  EXPECT_REFUSED(
      build_op("batch_norm", inputs),
      "Scale of batch_norm must have 3 elements, one for each channel of X [2, 3, 4, 4], but "
      "has shape [4]");
}

TEST(FusedBatchNorm, GivesReluOfTheNormAndTheSum) {
  const Tensor x = uniform({2, 17, 3, 3}, -2, 2), z = uniform({2, 17, 3, 3}, -2, 2, 9);
  const Inputs inputs = inputs_for(x, 17);
  Inputs with_z = inputs;
  with_z["Z"] = z;
  const std::vector<double> plain = values_of(run_op("batch_norm", inputs).at("Y"));
  const std::vector<double> act = values_of(run_op("fused_bn_act", inputs).at("Y"));
  const std::vector<double> add = values_of(run_op("fused_bn_add_act", with_z).at("Y"));
  const std::vector<double> residual = values_of(z);
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_NEAR(act[i], std::max(plain[i], 0.0), 1e-6);
    ASSERT_NEAR(add[i], std::max(plain[i] + residual[i], 0.0), 1e-6);
  }
}

}  // namespace
}  // namespace flotilla
