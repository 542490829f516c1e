#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

// Numbers that Paddle 1.8.5 answers.
TEST(DecayedAdagrad, KnownValues) {
  const OpOptions options = in_place({"Param", "Moment"});
  const Inputs inputs = {{"Param", tensor({1, -0.1, 2})},
                         {"Grad", tensor({0.5, -0.25, 0})},
                         {"Moment", tensor({0.75, 0.1875, 0})},
                         {"LearningRate", kRate}};
  const auto usual = run_op("decayed_adagrad", inputs, {}, options);
  EXPECT_THAT(usual.at("MomentOut"), near({0.725, 0.18125, 0}, 1e-6));
  EXPECT_THAT(usual.at("ParamOut"), near({0.941278, -0.0412781, 2}, 1e-6));
  const auto other =
      run_op("decayed_adagrad", inputs, {{"decay", 0.5f}, {"epsilon", 0.5f}}, options);
  EXPECT_THAT(other.at("MomentOut"), near({0.5, 0.125, 0}, 1e-6));
  EXPECT_THAT(other.at("ParamOut"), near({0.9585786, -0.0707107, 2}, 1e-6));
  const Tensor matrix = full({3, 1}, 1);
  EXPECT_REFUSED(run_op("decayed_adagrad",
                        {{"Param", matrix},
                         {"Grad", sparse({1}, full({1, 1}, 1), 3)},
                         {"Moment", matrix},
                         {"LearningRate", kRate}},
                        {}, options),
                 "slot Grad of decayed_adagrad does not accept sparse rows; the gradient of an "
                 "embedding is dense with is_sparse=False");
}

}  // namespace
}  // namespace flotilla
