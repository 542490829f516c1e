#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(Ftrl, KnownValues) {
  const OpOptions options = {.in_place = {{"Param", "ParamOut"},
                                          {"SquaredAccumulator", "SquaredAccumOut"},
                                          {"LinearAccumulator", "LinearAccumOut"}}};
  const Inputs inputs = {{"Param", tensor({1, 1})},
                         {"Grad", tensor({0.6, 0.6})},
                         {"SquaredAccumulator", tensor({0.64, 0.64})},
                         {"LinearAccumulator", tensor({0.5, 1.4})},
                         {"LearningRate", kRate}};
  const Attrs attrs = {{"l1", 0.3f}, {"l2", 0.2f}};
  const auto found = run_op("ftrl", inputs, attrs, options);
  EXPECT_THAT(found.at("SquaredAccumOut"), near({1, 1}, 1e-6));
  EXPECT_THAT(found.at("LinearAccumOut"), near({-0.9, 0}, 1e-5));
  EXPECT_THAT(found.at("ParamOut"), near({0.6 / 10.4, 0}, 1e-6));
  Attrs power = attrs;
  power["lr_power"] = -1.0f;
  EXPECT_THAT(run_op("ftrl", inputs, power, options).at("LinearAccumOut"),
              near({0.5 + 0.6 - 3.6, 1.4 + 0.6 - 3.6}, 1e-5));
}

}  // namespace
}  // namespace flotilla
