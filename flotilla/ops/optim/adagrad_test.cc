#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

// Numbers by the formulas, which were compared with what Paddle 2.6.2 answers.
TEST(Adagrad, KnownValues) {
  const Inputs inputs = {{"Param", tensor({1})},
                         {"Grad", tensor({0.5})},
                         {"Moment", tensor({0.75})},
                         {"LearningRate", kRate}};
  const auto found = run_op("adagrad", inputs, {}, in_place({"Param", "Moment"}));
  EXPECT_THAT(found.at("MomentOut"), near({1}, 1e-6));
  EXPECT_THAT(found.at("ParamOut"), near({0.95}, 1e-6));
}

}  // namespace
}  // namespace flotilla
