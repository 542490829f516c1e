#include "flotilla/testing/in_place.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

// Each fused op gives what the single ones give, tensor by tensor, also where a thread's share ends
// inside of one.
void check_fused(const std::string& type, const std::vector<std::string>& states,
                 const std::vector<std::string>& numbers, const Attrs& attrs) {
  std::map<std::string, std::vector<Tensor>> lists;
  const std::vector<Shape> shapes = {{3}, {40, 500}, {1}, {7, 9}, {30000}};
  OpOptions options = in_place({"Param"});
  std::vector<OpResult> single;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Inputs inputs = {{"LearningRate", kRate}};
    const auto add = [&](const std::string& slot, Tensor value) {
      lists[slot].push_back(value);
      inputs[slot] = std::move(value);
    };
    add("Param", uniform(shapes[i], -1, 1, i));
    add("Grad", uniform(shapes[i], -1, 1, i + 10));
    for (const std::string& slot : states) add(slot, uniform(shapes[i], 0.1, 1, i + 20));
    for (const std::string& slot : numbers) add(slot, full({1}, 0.5 + 0.05 * i));
    for (const std::string& slot : states) options.in_place[slot] = slot + "Out";
    for (const std::string& slot : numbers) options.in_place[slot] = slot + "Out";
    single.push_back(run_op(type, inputs, attrs, options));
  }
  Inputs inputs = {{"LearningRate", kRate}};
  for (const auto& [slot, tensors] : lists) inputs[slot] = Operands(tensors);
  const auto found = run_op("fused_" + type, inputs, attrs, options);
  for (const auto& [in, out] : options.in_place) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_THAT(found.at(out, i), equal_to(single[i].at(out))) << type << " " << out << " " << i;
    }
  }
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

TEST(FusedOptimizers, GiveWhatTheSingleOnesGive) {
  check_fused("sgd", {}, {}, {});
  check_fused("momentum", {"Velocity"}, {}, {{"mu", 0.9f}});
  check_fused("momentum", {"Velocity"}, {},
              {{"mu", 0.9f},
               {"use_nesterov", true},
               {"regularization_method", "l2_decay"},
               {"regularization_coeff", 0.1f}});
  check_fused("adam", {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}, {{"epsilon", 1e-3f}});
  check_fused("adam", {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"},
              {{"epsilon", 1e-1f}, {"plain_epsilon", true}});
}

TEST(FusedOptimizers, RefuseListsOfDifferentLengths) {
  EXPECT_REFUSED(
      build_op(
          "fused_sgd",
          {{"Param", {tensor({1}), tensor({2})}}, {"Grad", {tensor({1})}}, {"LearningRate", kRate}},
          {}, {.outputs = {{"ParamOut", 2}}}),
      "Param holds 2 variables, but Grad holds 1");
}

}  // namespace
}  // namespace flotilla
