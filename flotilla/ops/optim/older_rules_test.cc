#include "flotilla/testing/check_op.h"
#include "flotilla/testing/in_place.h"

namespace flotilla {
namespace {

const Inputs kPlain = {{"Param", tensor({1, -2, 0.05, 0.5})},
                       {"Grad", tensor({0.5, 1, -0.25, 2})},
                       {"LearningRate", tensor({0.1})}};

Inputs with_moment() {
  Inputs inputs = kPlain;
  inputs["Moment"] = tensor({1, 4, 0.5, 0.25});
  return inputs;
}

// Numbers of Paddle 1.8.5.
TEST(OlderRules, DecayedAdagrad) {
  const auto found = run_op("decayed_adagrad", with_moment(), {{"decay", 0.9f}, {"epsilon", 1e-3f}},
                            in_place({"Param", "Moment"}));
  EXPECT_THAT(found.at("ParamOut"), near({0.9480665, -2.0519605, 0.08695695, 0.2473374}, 1e-6));
  EXPECT_THAT(found.at("MomentOut"), near({0.925, 3.7, 0.45625, 0.625}, 1e-6));
}

TEST(OlderRules, Proximal) {
  const auto step = [](const char* type, const Inputs& inputs, float l1, const OpOptions& options) {
    return run_op(type, inputs, {{"l1", l1}, {"l2", 0.25f}}, options);
  };
  const OpOptions plain = in_place({"Param"}), both = in_place({"Param", "Moment"});
  EXPECT_THAT(step("proximal_gd", kPlain, 0, plain).at("ParamOut"),
              near({0.9268293, -2.0487804, 0.07317074, 0.29268295}, 1e-6));
  EXPECT_THAT(step("proximal_gd", kPlain, 0.5, plain).at("ParamOut"),
              near({0.8780488, -2, 0.02439025, 0.24390244}, 1e-6));
  EXPECT_THAT(step("proximal_adagrad", with_moment(), 0, both).at("ParamOut"),
              near({0.9319792, -1.9948502, 0.08130082, 0.39315683}, 1e-6));
  const auto drawn = step("proximal_adagrad", with_moment(), 0.5, both);
  EXPECT_THAT(drawn.at("ParamOut"), near({0.8831987, -1.9460697, 0.03252033, 0.34437633}, 1e-6));
  EXPECT_THAT(drawn.at("MomentOut"), near({1.25, 5, 0.5625, 4.25}, 1e-6));
}

TEST(OlderRules, AllKernelsAgree) {
  const Shape shape = {3, 4};
  Inputs inputs = {{"Param", uniform(shape, -1, 1)},
                   {"Grad", uniform(shape, -1, 1, 2)},
                   {"LearningRate", tensor({0.1})}};
  check_op({.type = "proximal_gd", .inputs = inputs, .attrs = {{"l1", 0.3f}, {"l2", 0.2f}}});
  inputs["Moment"] = uniform(shape, 0.1, 1, 3);
  for (const char* type : {"decayed_adagrad", "proximal_adagrad"}) {
    check_op({.type = type, .inputs = inputs, .outputs = {{"ParamOut", 1}, {"MomentOut", 1}}});
  }
}

TEST(OlderRules, Refusals) {
  Inputs inputs = kPlain;
  inputs["Grad"] = tensor({1, 2});
  EXPECT_REFUSED(
      build_op("proximal_gd", inputs),
      "Grad \"Grad_0\" must have shape [4], as Param \"Param_0\" has, but has shape [2]");
}

}  // namespace
}  // namespace flotilla
