// flotilla/ops/optim/other_optim_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/in_place.h"

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

TEST(Ftrl, KnownValues) {
  const OpOptions options = {.in_place = {{"Param", "ParamOut"},
                                          {"SquaredAccumulator", "SquaredAccumOut"},
                                          {"LinearAccumulator", "LinearAccumOut"}}};
  const Inputs inputs = {{"Param", tensor({1, 1})},
                         {"Grad", tensor({0.6, 0.6})},
                         {"SquaredAccumulator", tensor({0.64, 0.64})},
                         {"LinearAccumulator", tensor({0.5, 1.4})},
                         {"LearningRate", kRate}};
  const Attrs attrs = {{"l1", 0.3f}, {"l2", 0.2f}};
  const auto found = run_op("ftrl", inputs, attrs, options);
  EXPECT_THAT(found.at("SquaredAccumOut"), near({1, 1}, 1e-6));
  EXPECT_THAT(found.at("LinearAccumOut"), near({-0.9, 0}, 1e-5));
  EXPECT_THAT(found.at("ParamOut"), near({0.6 / 10.4, 0}, 1e-6));
  Attrs power = attrs;
  power["lr_power"] = -1.0f;
  EXPECT_THAT(run_op("ftrl", inputs, power, options).at("LinearAccumOut"),
              near({0.5 + 0.6 - 3.6, 1.4 + 0.6 - 3.6}, 1e-5));
}

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

// Row-sparse gradients: some rules take a row that is left out for zeros, some leave it alone.
TEST(OtherOptimizers, SparseGradients) {
  const Tensor p = uniform({6, 4}, -1, 1, 2), a = uniform({6, 4}, 0.5, 1, 3),
               b = uniform({6, 4}, 0.5, 1, 4);
  const SelectedRows grad = sparse({3, 0, 3}, uniform({3, 4}, -1, 1), 6);
  struct Row {
    std::string type;
    Inputs states;
    bool dense_in_effect;
    std::map<std::string, std::string> in_place;
  };
  const std::vector<Row> rows = {
      {"adagrad", {{"Moment", a}}, true, {{"Moment", "MomentOut"}}},
      {"rmsprop",
       {{"MeanSquare", a}, {"Moment", b}},
       true,
       {{"MeanSquare", "MeanSquareOut"}, {"Moment", "MomentOut"}}},
      {"ftrl",
       {{"SquaredAccumulator", a}, {"LinearAccumulator", b}},
       false,
       {{"SquaredAccumulator", "SquaredAccumOut"}, {"LinearAccumulator", "LinearAccumOut"}}},
      {"lamb",
       {{"Moment1", a}, {"Moment2", b}, {"Beta1Pow", tensor({0.9})}, {"Beta2Pow", tensor({0.99})}},
       true,
       {{"Moment1", "Moment1Out"}, {"Moment2", "Moment2Out"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.type);
    OpOptions options{.in_place = row.in_place};
    options.in_place["Param"] = "ParamOut";
    Inputs inputs = row.states;
    inputs["Param"] = p;
    inputs["LearningRate"] = kRate;
    inputs["Grad"] = grad;
    const auto found = values_of(run_op(row.type, inputs, {}, options).at("ParamOut"));
    inputs["Grad"] = grad.to_dense();
    const auto dense = values_of(run_op(row.type, inputs, {}, options).at("ParamOut"));
    const auto before = values_of(p);
    for (size_t i = 0; i < found.size(); ++i) {
      const bool present = i / 4 == 0 || i / 4 == 3;
      EXPECT_NEAR(found[i], present || row.dense_in_effect ? dense[i] : before[i], 1e-5) << i;
    }
  }
}

TEST(OtherOptimizers, SingleAndDoublePrecisionAgree) {
  const Tensor p = uniform({7}, -1, 1, 2), g = uniform({7}, -1, 1, 3), a = uniform({7}, 0.5, 1, 4),
               b = uniform({7}, 0.5, 1, 5), one = tensor({0.9}), two = tensor({0.99});
  const auto check = [&](const std::string& type, Inputs inputs) {
    inputs["Param"] = p;
    inputs["Grad"] = g;
    inputs["LearningRate"] = kRate;
    OpOptions options;
    if (type == "lars_momentum") options.outputs = {{"ParamOut", 1}, {"VelocityOut", 1}};
    const auto single = run_op(type, inputs, {}, options);
    for (auto& [slot, operands] : inputs) {
      operands = Operands(converted(std::get<Tensor>(operands[0]), f64));
    }
    EXPECT_THAT(converted(run_op(type, inputs, {}, options).at("ParamOut"), f32),
                near(single.at("ParamOut"), 1e-5))
        << type;
  };
  check("adagrad", {{"Moment", a}});
  check("decayed_adagrad", {{"Moment", a}});
  check("proximal_gd", {});
  check("proximal_adagrad", {{"Moment", a}});
  check("rmsprop", {{"MeanSquare", a}, {"Moment", b}});
  check("adadelta", {{"AvgSquaredGrad", a}, {"AvgSquaredUpdate", b}});
  check("adamax", {{"Moment", a}, {"InfNorm", b}, {"Beta1Pow", one}});
  check("ftrl", {{"SquaredAccumulator", a}, {"LinearAccumulator", b}});
  check("lamb", {{"Moment1", a}, {"Moment2", b}, {"Beta1Pow", one}, {"Beta2Pow", two}});
  check("lars_momentum", {{"Velocity", a}});
  check("adamw", {{"Moment1", a}, {"Moment2", b}, {"Beta1Pow", one}, {"Beta2Pow", two}});
}

}  // namespace
}  // namespace flotilla
