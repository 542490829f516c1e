#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(LarsMomentum, KnownValues) {
  const OpOptions options = {.outputs = {{"ParamOut", 1}, {"VelocityOut", 1}},
                             .in_place = {{"Param", "ParamOut"}, {"Velocity", "VelocityOut"}}};
  const Inputs inputs = {{"Param", tensor({3, 4})},
                         {"Grad", tensor({0.6, 0.8})},
                         {"Velocity", tensor({1, 1})},
                         {"LearningRate", kRate}};
  const Attrs attrs = {
      {"mu", 0.5f}, {"lars_coeff", 0.3f}, {"lars_weight_decay", std::vector<float>{0.2f}}};
  // The rate is 0.1 * 0.3 * 5 / (1 + 0.2 * 5) = 0.075.
  const auto found = run_op("lars_momentum", inputs, attrs, options);
  EXPECT_THAT(found.at("VelocityOut"), near({0.5 + 0.075 * 1.2, 0.5 + 0.075 * 1.6}, 1e-6));
  EXPECT_THAT(found.at("ParamOut"), near({2.5 - 0.075 * 1.2, 3.5 - 0.075 * 1.6}, 1e-6));
}

}  // namespace
}  // namespace flotilla
