#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

// Numbers that Paddle 1.8.5 answers.
TEST(Proximal, KnownValues) {
  Inputs inputs = {
      {"Param", tensor({1, -0.1, 2})}, {"Grad", tensor({0.5, -0.25, 0})}, {"LearningRate", kRate}};
  const Attrs l1 = {{"l1", 0.5f}}, l2 = {{"l2", 2.0f}}, both = {{"l1", 0.5f}, {"l2", 2.0f}};
  const auto plain = [&](const Attrs& attrs) {
    return run_op("proximal_gd", inputs, attrs, in_place({"Param"})).at("ParamOut");
  };
  EXPECT_THAT(plain({}), near({0.95, -0.075, 2}, 1e-6));
  EXPECT_THAT(plain(l1), near({0.9, -0.025, 1.95}, 1e-6));
  EXPECT_THAT(plain(l2), near({0.7916666, -0.0625, 1.6666666}, 1e-6));
  EXPECT_THAT(plain(both), near({0.75, -0.0208333, 1.625}, 1e-6));

  inputs["Param"] = tensor({1, -0.1});
  inputs["Grad"] = tensor({0.5, -0.25});
  inputs["Moment"] = tensor({0.75, 0.1875});
  const auto scaled = [&](const Attrs& attrs) {
    const auto found = run_op("proximal_adagrad", inputs, attrs, in_place({"Param", "Moment"}));
    EXPECT_THAT(found.at("MomentOut"), near({1, 0.25}, 1e-6));
    return found.at("ParamOut");
  };
  EXPECT_THAT(scaled({}), near({0.95, -0.05}, 1e-6));
  EXPECT_THAT(scaled(l1), near({0.9, 0}, 1e-6));
  EXPECT_THAT(scaled(l2), near({0.7916666, -0.0416667}, 1e-6));
  EXPECT_THAT(scaled(both), near({0.75, 0}, 1e-6));

  // Where Paddle divides zero by zero.
  inputs["Grad"] = inputs["Moment"] = tensor({0, 0});
  const OpOptions options = in_place({"Param", "Moment"});
  EXPECT_THAT(run_op("proximal_adagrad", inputs, {}, options).at("ParamOut"),
              near({1, -0.1}, 1e-6));
}

}  // namespace
}  // namespace flotilla
