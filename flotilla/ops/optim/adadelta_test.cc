#include <cmath>

#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(Adadelta, KnownValues) {
  const OpOptions options = in_place({"Param", "AvgSquaredGrad", "AvgSquaredUpdate"});
  Inputs inputs = {{"Param", tensor({1})},
                   {"Grad", tensor({0.5})},
                   {"AvgSquaredGrad", tensor({1})},
                   {"AvgSquaredUpdate", tensor({2})}};
  const Attrs attrs = {{"rho", 0.9f}, {"epsilon", 0.01f}};
  const double step = -0.5 * std::sqrt(2.01 / 0.935);
  const auto old = run_op("adadelta", inputs, attrs, options);
  EXPECT_THAT(old.at("ParamOut"), near({1 + step}, 1e-6));
  EXPECT_THAT(old.at("AvgSquaredUpdateOut"), near({1.8 + 0.1 * step * step}, 1e-6));
  inputs["LearningRate"] = kRate;
  EXPECT_THAT(run_op("adadelta", inputs, attrs, options).at("ParamOut"),
              near({1 + 0.1 * step}, 1e-6));
}

}  // namespace
}  // namespace flotilla
