#include <cmath>

#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(Lamb, KnownValues) {
  const OpOptions options = in_place({"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"});
  const Inputs inputs = {{"Param", tensor({3, 4})},    {"Grad", tensor({1, 1})},
                         {"LearningRate", kRate},      {"Moment1", tensor({0, 0})},
                         {"Moment2", tensor({0, 0})},  {"Beta1Pow", tensor({0.9})},
                         {"Beta2Pow", tensor({0.999})}};
  // Without decay a step of [1, 1]; scaled to the parameter's norm of 5 with always_adapt.
  const double ratio = 5 / std::sqrt(2.0);
  EXPECT_THAT(run_op("lamb", inputs, {}, options).at("ParamOut"), near({2.9, 3.9}, 1e-5));
  const auto adapted = run_op("lamb", inputs, {{"always_adapt", true}}, options);
  EXPECT_THAT(adapted.at("ParamOut"), near({3 - 0.1 * ratio, 4 - 0.1 * ratio}, 1e-5));
  EXPECT_THAT(adapted.at("Beta1PowOut"), near({0.81}, 1e-6));
  // With decay 0.5 the step is [2.5, 3].
  const double decayed = 5 / std::sqrt(2.5 * 2.5 + 9);
  EXPECT_THAT(run_op("lamb", inputs, {{"weight_decay", 0.5f}}, options).at("ParamOut"),
              near({3 - 0.1 * 2.5 * decayed, 4 - 0.1 * 3 * decayed}, 1e-5));
  // In Paddle 1.x the step is the same number twice, and is scaled without a decay too.
  const auto old = run_op("lamb", inputs, {{"plain_moments", true}}, options);
  EXPECT_THAT(old.at("ParamOut"), near({3 - 0.1 * ratio, 4 - 0.1 * ratio}, 1e-5));
  EXPECT_THAT(old.at("Beta1PowOut"), near({0.81}, 1e-6));
  // Moments of 0.1 and 0.001, and a decay: [0.1 / (sqrt(0.001) + 1) + 1.5, ... + 2].
  const double step = 0.1 / (std::sqrt(0.001) + 1);
  const double trust = 5 / std::hypot(step + 1.5, step + 2);
  EXPECT_THAT(run_op("lamb", inputs,
                     {{"plain_moments", true}, {"weight_decay", 0.5f}, {"epsilon", 1.0f}}, options)
                  .at("ParamOut"),
              near({3 - 0.1 * trust * (step + 1.5), 4 - 0.1 * trust * (step + 2)}, 1e-5));
}

}  // namespace
}  // namespace flotilla
