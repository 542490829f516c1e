// flotilla/ops/optim/optim_test.cc

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/in_place.h"

namespace flotilla {
namespace {

const Tensor kRate = tensor({0.1});

const OpOptions kSgd = in_place({"Param"});
const OpOptions kMomentum = in_place({"Param", "Velocity"});
const OpOptions kAdam = in_place({"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"});

TEST(Sgd, KnownValues) {
  const Inputs inputs = {
      {"Param", tensor({1, 2})}, {"Grad", tensor({0.5, -1})}, {"LearningRate", kRate}};
  EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"), near({0.95, 2.1}, 1e-6));
  // Into another variable the parameter is copied first.
  EXPECT_THAT(run_op("sgd", inputs).at("ParamOut"), near({0.95, 2.1}, 1e-6));
}

TEST(Sgd, TakesALearningRateOfEitherPrecision) {
  for (const DType dtype : {f32, f64}) {
    const Inputs inputs = {{"Param", tensor({1, 2}, dtype)},
                           {"Grad", tensor({0.5, -1}, dtype)},
                           {"LearningRate", tensor({0.1}, dtype == f32 ? f64 : f32)}};
    EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"), near({0.95, 2.1}, 1e-6));
  }
}

TEST(Sgd, EveryOccurrenceOfASparseRowCounts) {
  const Inputs inputs = {{"Param", full({4, 2}, 1)},
                         {"Grad", sparse({1, 1, 3}, full({3, 2}, 1), 4)},
                         {"LearningRate", kRate}};
  EXPECT_THAT(run_op("sgd", inputs, {}, kSgd).at("ParamOut"),
              near({1, 1, 0.8, 0.8, 1, 1, 0.9, 0.9}, 1e-6));
}

TEST(Sgd, ManySparseRowsOnManyThreads) {
  const int64_t height = 50, count = 9000, width = 8;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(i * 7 % height);
  const SelectedRows grad = sparse(rows, uniform({count, width}, -1, 1), height);
  const Tensor param = uniform({height, width}, -1, 1, 2);
  const auto found =
      run_op("sgd", {{"Param", param}, {"Grad", grad}, {"LearningRate", kRate}}, {}, kSgd);
  const auto dense = run_op(
      "sgd", {{"Param", param}, {"Grad", grad.to_dense()}, {"LearningRate", kRate}}, {}, kSgd);
  EXPECT_THAT(found.at("ParamOut"), near(dense.at("ParamOut"), 1e-4));
}

TEST(Sgd, Refusals) {
  EXPECT_REFUSED(
      build_op("sgd",
               {{"Param", full({2, 3}, 0)}, {"Grad", full({3, 2}, 0)}, {"LearningRate", kRate}}),
      "Grad \"Grad_0\" must have shape [2, 3], as Param \"Param_0\" has, but has shape [3, 2]");
  EXPECT_REFUSED(
      build_op("sgd",
               {{"Param", full({2}, 0)}, {"Grad", full({2}, 0)}, {"LearningRate", tensor({1, 2})}}),
      "LearningRate \"LearningRate_0\" must hold one number, but has shape [2]");
  EXPECT_REFUSED(run_op("sgd",
                        {{"Param", full({4, 2}, 1)},
                         {"Grad", sparse({1, 4}, full({2, 2}, 1), 4)},
                         {"LearningRate", kRate}},
                        {}, kSgd),
                 "the gradient holds row 4, but the parameter has the rows 0 to 3");
}

TEST(Momentum, KnownValues) {
  const Inputs inputs = {{"Param", tensor({1})},
                         {"Grad", tensor({0.5})},
                         {"Velocity", tensor({2})},
                         {"LearningRate", kRate}};
  const auto plain = run_op("momentum", inputs, {{"mu", 0.9f}}, kMomentum);
  EXPECT_THAT(plain.at("VelocityOut"), near({2.3}, 1e-6));
  EXPECT_THAT(plain.at("ParamOut"), near({0.77}, 1e-6));
  const auto nesterov =
      run_op("momentum", inputs, {{"mu", 0.9f}, {"use_nesterov", true}}, kMomentum);
  EXPECT_THAT(nesterov.at("ParamOut"), near({1 - 0.1 * (0.5 + 0.9 * 2.3)}, 1e-6));
  const Attrs decay = {{"mu", 0.9f},
                       {"regularization_method", "l2_decay"},
                       {"regularization_coeff", 0.2f},
                       {"rescale_grad", 2.0f}};
  EXPECT_THAT(run_op("momentum", inputs, decay, kMomentum).at("VelocityOut"),
              near({0.9 * 2 + 2 * 0.5 + 0.2}, 1e-6));
}

// A row that the gradient leaves out goes on with its velocity.
TEST(Momentum, SparseIsDenseInEffect) {
  const SelectedRows grad = sparse({3, 0, 3}, uniform({3, 4}, -1, 1), 6);
  for (const bool nesterov : {false, true}) {
    const Attrs attrs = {{"mu", 0.9f}, {"use_nesterov", nesterov}};
    Inputs inputs = {{"Param", uniform({6, 4}, -1, 1, 2)},
                     {"Grad", grad},
                     {"Velocity", uniform({6, 4}, -1, 1, 3)},
                     {"LearningRate", kRate}};
    const auto found = run_op("momentum", inputs, attrs, kMomentum);
    inputs["Grad"] = grad.to_dense();
    const auto dense = run_op("momentum", inputs, attrs, kMomentum);
    EXPECT_THAT(found.at("ParamOut"), near(dense.at("ParamOut"), 1e-6));
    EXPECT_THAT(found.at("VelocityOut"), near(dense.at("VelocityOut"), 1e-6));
  }
}

TEST(Momentum, RefusesAnUnknownDecay) {
  EXPECT_REFUSED(build_op("momentum",
                          {{"Param", full({2}, 0)},
                           {"Grad", full({2}, 0)},
                           {"Velocity", full({2}, 0)},
                           {"LearningRate", kRate}},
                          {{"regularization_method", "l1_decay"}}),
                 "regularization_method must be \"\" or \"l2_decay\", but is \"l1_decay\"");
}

Inputs adam_inputs(Operands grad, const Shape& shape, double power1, double power2) {
  return {{"Param", uniform(shape, -1, 1, 2)},
          {"Grad", std::move(grad)},
          {"LearningRate", kRate},
          {"Moment1", uniform(shape, -1, 1, 3)},
          {"Moment2", uniform(shape, 0.2, 2, 4)},
          {"Beta1Pow", tensor({power1})},
          {"Beta2Pow", tensor({power2})}};
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
