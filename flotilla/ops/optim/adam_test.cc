#include <cmath>

#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

const OpOptions kAdam = in_place({"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"});

Inputs adam_inputs(Operands grad, const Shape& shape, double power1, double power2) {
  return {{"Param", uniform(shape, -1, 1, 2)},
          {"Grad", std::move(grad)},
          {"LearningRate", kRate},
          {"Moment1", uniform(shape, -1, 1, 3)},
          {"Moment2", uniform(shape, 0.2, 2, 4)},
          {"Beta1Pow", tensor({power1})},
          {"Beta2Pow", tensor({power2})}};
}

TEST(MergedAdam, IsAdamOnEachParameter) {
  const std::vector<std::string> states = {"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"};
  OpOptions options = in_place({"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"});
  const auto inputs = [](int64_t n, int seed) {
    const auto s = static_cast<uint64_t>(seed);
    return std::map<std::string, Tensor>{{"Param", uniform({n}, -1, 1, s)},
                                         {"Grad", uniform({n}, -1, 1, s + 1)},
                                         {"LearningRate", full({1}, 0.1 * seed)},
                                         {"Moment1", uniform({n}, -1, 1, s + 2)},
                                         {"Moment2", uniform({n}, 0.1, 1, s + 3)},
                                         {"Beta1Pow", full({1}, 0.9)},
                                         {"Beta2Pow", full({1}, 0.999)}};
  };
  const auto first = inputs(3, 1), second = inputs(5, 2);
  Inputs lists, one, other;
  for (const auto& [slot, tensor] : first) {
    lists[slot] = Operands{tensor, second.at(slot)};
    one[slot] = tensor;
    other[slot] = second.at(slot);
  }
  for (const std::string& state : states) options.outputs[state + "Out"] = 2;
  const Attrs attrs = {{"beta1", 0.8f}, {"epsilon", 0.5f}};
  const auto found = run_op("merged_adam", lists, attrs, options);
  options.outputs.clear();
  const auto apart = {run_op("adam", one, attrs, options), run_op("adam", other, attrs, options)};
  for (const std::string& state : states) {
    size_t i = 0;
    for (const auto& expected : apart) {
      EXPECT_THAT(found.at(state + "Out", i++), near(expected.at(state + "Out"), 0)) << state;
    }
  }
  lists["Grad"] = first.at("Grad");
  EXPECT_REFUSED(build_op("merged_adam", lists, attrs, options),
                 "Param holds 2 variables, but Grad holds 1");
}

// The first step moves by the learning rate, whatever the size of the gradient.
TEST(Adam, KnownValues) {
  const Inputs inputs = {{"Param", tensor({1, 2})},    {"Grad", tensor({0.5, -3})},
                         {"LearningRate", kRate},      {"Moment1", tensor({0, 0})},
                         {"Moment2", tensor({0, 0})},  {"Beta1Pow", tensor({0.9})},
                         {"Beta2Pow", tensor({0.999})}};
  const auto found = run_op("adam", inputs, {}, kAdam);
  EXPECT_THAT(found.at("ParamOut"), near({0.9, 2.1}, 1e-5));
  EXPECT_THAT(found.at("Moment1Out"), near({0.05, -0.3}, 1e-6));
  EXPECT_THAT(found.at("Moment2Out"), near({0.00025, 0.009}, 1e-6));
  EXPECT_THAT(found.at("Beta1PowOut"), near({0.81}, 1e-6));
  EXPECT_THAT(found.at("Beta2PowOut"), near({0.998001}, 1e-6));
  // The textbook's epsilon: it stands beside sqrt(moment2 / (1 - beta2^t)), which is |grad| here.
  EXPECT_THAT(run_op("adam", inputs, {{"epsilon", 1.0f}}, kAdam).at("ParamOut"),
              near({1 - 0.1 * 0.5 / 1.5, 2 + 0.1 * 3 / 4}, 1e-5));
  // That of Paddle 1.x stands beside sqrt(moment2), which is sqrt(1 - beta2) |grad| here.
  const double root = std::sqrt(0.001);
  EXPECT_THAT(
      run_op("adam", inputs, {{"epsilon", 1.0f}, {"plain_epsilon", true}}, kAdam).at("ParamOut"),
      near({1 - 0.1 * 0.5 * root / (0.5 * root + 1), 2 + 0.1 * 3 * root / (3 * root + 1)}, 1e-5));
}

TEST(Adam, SparseIsDenseInEffectUnlessLazy) {
  const SelectedRows grad = sparse({3, 0, 3}, uniform({3, 4}, -1, 1), 6);
  const Inputs inputs = adam_inputs(grad, {6, 4}, 0.729, 0.997);
  const auto eager = run_op("adam", inputs, {}, kAdam);
  const auto dense = run_op("adam", adam_inputs(grad.to_dense(), {6, 4}, 0.729, 0.997), {}, kAdam);
  const auto lazy = run_op("adam", inputs, {{"lazy_mode", true}}, kAdam);
  for (const std::string slot : {"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"}) {
    EXPECT_THAT(eager.at(slot + "Out"), near(dense.at(slot + "Out"), 1e-6)) << slot;
  }
  const auto all = values_of(dense.at("ParamOut"));
  const auto before = values_of(std::get<Tensor>(inputs.at("Param")[0]));
  const auto touched = values_of(lazy.at("ParamOut"));
  for (size_t i = 0; i < touched.size(); ++i) {
    const bool present = i / 4 == 0 || i / 4 == 3;
    EXPECT_NEAR(touched[i], present ? all[i] : before[i], 1e-6) << i;
  }
}

TEST(Adam, TensorsStandInForAttributes) {
  Inputs inputs = adam_inputs(uniform({5}, -1, 1), {5}, 0.7, 0.99);
  const auto expected =
      run_op("adam", inputs, {{"beta1", 0.7f}, {"beta2", 0.99f}, {"epsilon", 0.5f}}, kAdam);
  inputs["Beta1Tensor"] = tensor({0.7});
  inputs["Beta2Tensor"] = tensor({0.99});
  inputs["EpsilonTensor"] = tensor({0.5});
  const auto found = run_op("adam", inputs, {}, kAdam);
  EXPECT_THAT(found.at("ParamOut"), near(expected.at("ParamOut"), 1e-6));
  EXPECT_THAT(found.at("Beta1PowOut"), near({0.49}, 1e-6));
  inputs["SkipUpdate"] = bools({true});
  const auto skipped = run_op("adam", inputs, {}, kAdam);
  for (const std::string slot : {"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"}) {
    EXPECT_THAT(skipped.at(slot + "Out"), equal_to(std::get<Tensor>(inputs.at(slot)[0]))) << slot;
  }
}

TEST(AdamW, DecaysTheParameterItself) {
  const Inputs inputs = adam_inputs(uniform({5}, -1, 1), {5}, 0.9, 0.999);
  const auto adam = run_op("adam", inputs, {}, kAdam);
  const auto adamw = run_op("adamw", inputs, {{"with_decay", true}, {"coeff", 0.5f}}, kAdam);
  const auto plain = run_op("adamw", inputs, {{"coeff", 0.5f}}, kAdam);
  EXPECT_THAT(plain.at("ParamOut"), near(adam.at("ParamOut"), 1e-6));
  const auto p = values_of(std::get<Tensor>(inputs.at("Param")[0]));
  auto expected = values_of(adam.at("ParamOut"));
  for (size_t i = 0; i < p.size(); ++i) expected[i] -= 0.1 * 0.5 * p[i];
  EXPECT_THAT(adamw.at("ParamOut"), near(expected, 1e-6));
}

}  // namespace
}  // namespace flotilla
