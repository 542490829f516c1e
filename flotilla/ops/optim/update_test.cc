// flotilla/ops/optim/update_test.cc
//
// What holds for every rule: f32 does what f64 does on any number of threads, and each other device
// what the CPU does (check_op), with gradients that are dense, sparse and those of many parameters.

#include <string>
#include <vector>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// Around the pieces in which devices cut a parameter, and none at all.
const std::vector<Shape> kShapes = {{0}, {1}, {37}, {40, 103}};

struct RuleCase {
  std::string type = {};
  std::vector<std::string> states = {};
  std::vector<std::string> powers = {};
  Attrs attrs = {};
  std::map<std::string, int> outputs = {};  // that are optional
};

const std::vector<RuleCase> kRules = {
    {.type = "sgd"},
    {.type = "momentum", .states = {"Velocity"}, .attrs = {{"mu", 0.9f}}},
    {.type = "momentum",
     .states = {"Velocity"},
     .attrs = {{"mu", 0.9f},
               {"use_nesterov", true},
               {"regularization_method", "l2_decay"},
               {"regularization_coeff", 0.1f},
               {"rescale_grad", 0.5f}}},
    {.type = "adam",
     .states = {"Moment1", "Moment2"},
     .powers = {"Beta1Pow", "Beta2Pow"},
     .attrs = {{"epsilon", 1e-3f}}},
    {.type = "adam",
     .states = {"Moment1", "Moment2"},
     .powers = {"Beta1Pow", "Beta2Pow"},
     .attrs = {{"plain_epsilon", true}, {"lazy_mode", true}, {"use_global_beta_pow", true}}},
    {.type = "adamw",
     .states = {"Moment1", "Moment2"},
     .powers = {"Beta1Pow", "Beta2Pow"},
     .attrs = {{"with_decay", true}, {"coeff", 0.5f}, {"lr_ratio", 0.3f}}},
    {.type = "adagrad", .states = {"Moment"}},
    {.type = "rmsprop", .states = {"MeanSquare", "Moment"}, .attrs = {{"momentum", 0.5f}}},
    {.type = "rmsprop",
     .states = {"MeanSquare", "Moment", "MeanGrad"},
     .attrs = {{"centered", true}, {"epsilon", 1.0f}},
     .outputs = {{"MeanGradOut", 1}}},
    {.type = "ftrl",
     .states = {"SquaredAccumulator", "LinearAccumulator"},
     .attrs = {{"l1", 0.1f}, {"l2", 0.2f}}},
    {.type = "ftrl",
     .states = {"SquaredAccumulator", "LinearAccumulator"},
     .attrs = {{"lr_power", -0.7f}}},
    {.type = "lamb",
     .states = {"Moment1", "Moment2"},
     .powers = {"Beta1Pow", "Beta2Pow"},
     .attrs = {{"weight_decay", 0.1f}},
     .outputs = {{"Beta1PowOut", 1}, {"Beta2PowOut", 1}}},
    {.type = "lamb", .states = {"Moment1", "Moment2"}, .powers = {"Beta1Pow", "Beta2Pow"}},
    {.type = "adadelta", .states = {"AvgSquaredGrad", "AvgSquaredUpdate"}},
    {.type = "adamax", .states = {"Moment", "InfNorm"}, .powers = {"Beta1Pow"}},
    {.type = "decayed_adagrad", .states = {"Moment"}},
    {.type = "proximal_gd", .attrs = {{"l1", 0.5f}, {"l2", 0.2f}}},
    {.type = "proximal_adagrad", .states = {"Moment"}, .attrs = {{"l1", 0.5f}}},
    {.type = "lars_momentum",
     .states = {"Velocity"},
     .attrs = {{"mu", 0.9f}, {"lars_coeff", 0.5f}},
     .outputs = {{"ParamOut", 1}, {"VelocityOut", 1}}},
};

Inputs inputs_of(const RuleCase& rule, const Shape& shape, Operands grad) {
  Inputs inputs = {{"Param", uniform(shape, -1, 1, 2)},
                   {"Grad", std::move(grad)},
                   {"LearningRate", tensor({0.1})}};
  uint64_t seed = 3;
  for (const std::string& state : rule.states) inputs[state] = uniform(shape, 0.2, 0.9, seed++);
  double power = 0.7;
  for (const std::string& slot : rule.powers) inputs[slot] = tensor({power += 0.1});
  return inputs;
}

void check_rule(const RuleCase& rule, Inputs inputs) {
  check_op({.type = rule.type,
            .inputs = std::move(inputs),
            .attrs = rule.attrs,
            .outputs = rule.outputs});
}

TEST(Update, OfEveryRuleWithADenseGradient) {
  for (const RuleCase& rule : kRules) {
    for (const Shape& shape : kShapes) {
      check_rule(rule, inputs_of(rule, shape, uniform(shape, -1, 1)));
    }
  }
}

// One row in three is row 2; some rows are never there.
SelectedRows skewed(int64_t count, int64_t width, int64_t height) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back((i % 3 == 0 ? 2 : i * i * 7) % height);
  return sparse(rows, uniform({count, width}, -1, 1), height);
}

TEST(Update, OfEveryRuleWithASparseGradient) {
  struct Rows {
    int64_t count = 0, width = 0, height = 0;
  };
  for (const RuleCase& rule : kRules) {
    if (op_def(rule.type).find_input("Grad")->doc.find("sparse") == std::string::npos) continue;
    for (const Rows& r :
         {Rows{1, 3, 4}, Rows{7, 1, 5}, Rows{700, 5, 90}, Rows{300, 40, 1}, Rows{2000, 2, 1000}}) {
      check_rule(rule, inputs_of(rule, {r.height, r.width}, skewed(r.count, r.width, r.height)));
    }
  }
}

TEST(Update, WithNumbersFromTensors) {
  const RuleCase adam = {
      .type = "adam", .states = {"Moment1", "Moment2"}, .powers = {"Beta1Pow", "Beta2Pow"}};
  for (const bool skip : {false, true}) {
    Inputs inputs = inputs_of(adam, {9, 3}, uniform({9, 3}, -1, 1));
    inputs["Beta1Tensor"] = tensor({0.7});
    inputs["Beta2Tensor"] = tensor({0.99});
    inputs["EpsilonTensor"] = tensor({0.5});
    inputs["SkipUpdate"] = bools({skip});
    check_rule(adam, inputs);
    inputs["Grad"] = skewed(5, 3, 9);
    check_rule(adam, inputs);
  }
}

// More parameters than any launch takes, and of very different sizes.
TEST(Update, OfManyParametersAtOnce) {
  const std::vector<RuleCase> rules = {
      {.type = "fused_sgd"},
      {.type = "fused_momentum",
       .states = {"Velocity"},
       .attrs = {{"mu", 0.9f}, {"regularization_coeffs", std::vector<float>(70, 0.1f)}}},
      {.type = "fused_adam", .states = {"Moment1", "Moment2"}, .powers = {"Beta1Pow", "Beta2Pow"}},
      {.type = "merged_adam", .states = {"Moment1", "Moment2"}, .powers = {"Beta1Pow", "Beta2Pow"}},
      {.type = "lars_momentum", .states = {"Velocity"}, .attrs = {{"mu", 0.9f}}}};
  constexpr int kCount = 70;
  for (const RuleCase& rule : rules) {
    Inputs inputs;
    const auto add = [&](const std::string& slot, const Tensor& value) {
      inputs[slot].push_back(value);
    };
    for (int i = 0; i < kCount; ++i) {
      const Shape shape = i % 9 == 4 ? Shape{40, 103} : Shape{i * i % 31 + 1};
      const auto seed = static_cast<uint64_t>(10 * i);
      add("Param", uniform(shape, -1, 1, seed));
      add("Grad", uniform(shape, -1, 1, seed + 1));
      uint64_t next = 2;
      for (const std::string& state : rule.states)
        add(state, uniform(shape, 0.2, 1, seed + next++));
      for (const std::string& power : rule.powers) add(power, full({1}, 0.1 + 0.01 * i));
      if (i == 0 || !rule.type.starts_with("fused_"))
        add("LearningRate", full({1}, 0.1 + 0.01 * i));
    }
    RuleCase one = rule;
    one.outputs["ParamOut"] = kCount;
    for (const std::string& state : rule.states) one.outputs[state + "Out"] = kCount;
    for (const std::string& power : rule.powers) one.outputs[power + "Out"] = kCount;
    check_rule(one, inputs);
  }
}

}  // namespace
}  // namespace flotilla
