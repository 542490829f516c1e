#include <cmath>

#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

TEST(Rmsprop, KnownValues) {
  const OpOptions options = in_place({"Param", "MeanSquare", "Moment", "MeanGrad"});
  const Inputs inputs = {{"Param", tensor({1})},      {"Grad", tensor({0.5})},
                         {"MeanSquare", tensor({1})}, {"MeanGrad", tensor({0.2})},
                         {"Moment", tensor({0.4})},   {"LearningRate", kRate}};
  Attrs attrs = {{"decay", 0.9f}, {"momentum", 0.5f}, {"epsilon", 0.01f}};
  const auto plain = run_op("rmsprop", inputs, attrs, options);
  EXPECT_THAT(plain.at("MeanSquareOut"), near({0.925}, 1e-6));
  EXPECT_THAT(plain.at("MomentOut"), near({0.2 + 0.05 / std::sqrt(0.935)}, 1e-6));
  EXPECT_THAT(plain.at("ParamOut"), near({0.8 - 0.05 / std::sqrt(0.935)}, 1e-6));
  EXPECT_THAT(plain.at("MeanGradOut"), near({0.2}, 1e-6));
  attrs["centered"] = true;
  const auto centered = run_op("rmsprop", inputs, attrs, options);
  EXPECT_THAT(centered.at("MeanGradOut"), near({0.23}, 1e-6));
  EXPECT_THAT(centered.at("ParamOut"), near({0.8 - 0.05 / std::sqrt(0.935 - 0.23 * 0.23)}, 1e-6));
  EXPECT_REFUSED(build_op("rmsprop",
                          {{"Param", tensor({1})},
                           {"Grad", tensor({0.5})},
                           {"MeanSquare", tensor({1})},
                           {"Moment", tensor({0.4})},
                           {"LearningRate", kRate}},
                          {{"centered", true}}),
                 "a centered rmsprop needs the input MeanGrad");
}

}  // namespace
}  // namespace flotilla
