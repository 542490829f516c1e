#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(Adamax, KnownValues) {
  const Inputs inputs = {{"Param", tensor({1, 1})},     {"Grad", tensor({0.5, 0.5})},
                         {"LearningRate", kRate},       {"Moment", tensor({0.2, 0.2})},
                         {"InfNorm", tensor({0.1, 2})}, {"Beta1Pow", tensor({0.75})}};
  const auto found = run_op("adamax", inputs, {{"beta2", 0.5f}, {"epsilon", 0.1f}},
                            in_place({"Param", "Moment", "InfNorm"}));
  EXPECT_THAT(found.at("MomentOut"), near({0.23, 0.23}, 1e-6));
  EXPECT_THAT(found.at("InfNormOut"), near({0.5, 1.1}, 1e-6));
  EXPECT_THAT(found.at("ParamOut"), near({1 - 0.4 * 0.23 / 0.5, 1 - 0.4 * 0.23 / 1.1}, 1e-6));
}

}  // namespace
}  // namespace flotilla
