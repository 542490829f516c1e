// flotilla/update/rule_test.cc
//
// What follows from the value of a rule, shown with one that testing/toy_rule.cc defines and
// nothing else knows: an op that takes dense and sparse gradients, a fused op, an optimizer, a
// table's rule. job/server_training_test.cc trains with every rule on servers.

#include "flotilla/update/rule.h"

#include <gmock/gmock.h>

#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/op/op_def.h"
#include "flotilla/passes/fuse_optimizer.h"
#include "flotilla/ps/rule.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/in_place.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::update {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const Tensor kRate = tensor({0.5});

TEST(NewRule, IsAnOpForDenseAndSparseGradients) {
  const OpOptions options = in_place({"Param", "Mean"});
  Inputs inputs = {{"Param", tensor({{1, 2}, {3, 4}})},
                   {"Grad", tensor({{1, -1}, {0, 1}})},
                   {"Mean", tensor({{0, 0}, {0, -1}})},
                   {"LearningRate", kRate}};
  const auto dense = run_op("toy_signum", inputs, {{"beta", 0.75f}}, options);
  EXPECT_THAT(dense.at("ParamOut"), near({0.5, 2.5, 3, 4.5}, 1e-6));
  EXPECT_THAT(dense.at("MeanOut"), near({0.25, -0.25, 0, -0.5}, 1e-6));
  inputs["Grad"] = sparse({1, 1}, tensor({{1, 1}, {-3, 9}}), 2);
  const auto rows = run_op("toy_signum", inputs, {{"beta", 0.75f}}, options);
  EXPECT_THAT(rows.at("ParamOut"), near({1, 2, 3.5, 3.5}, 1e-6));
  inputs["Mean"] = tensor({1, 2, 3});
  EXPECT_REFUSED(build_op("toy_signum", inputs, {}, options),
                 "Mean \"Mean_0\" must have shape [2, 2], as Param \"Param_0\" has, but has "
                 "shape [3]");
}

TEST(NewRule, IsFused) {
  const auto program = build(R"(
    var lr f32[1] persistable
    var w0 f32[2] persistable parameter
    var w1 f32[3] persistable parameter
    var m0 f32[2] persistable
    var m1 f32[3] persistable
    var g0 f32[2] data
    var g1 f32[3] data
    toy_signum(Grad=g0, LearningRate=lr, Mean=m0, Param=w0) -> MeanOut=m0, ParamOut=w0
    toy_signum(Grad=g1, LearningRate=lr, Mean=m1, Param=w1) -> MeanOut=m1, ParamOut=w1
  )");
  expect_same_results(passes::fuse_optimizer, *program,
                      {{"g0", uniform({2}, -1, 1, 1)}, {"g1", uniform({3}, -1, 1, 2)}},
                      {"w0", "w1", "m0", "m1"},
                      {{"lr", kRate},
                       {"w0", uniform({2}, -1, 1, 3)},
                       {"w1", uniform({3}, -1, 1, 4)},
                       {"m0", uniform({2}, -1, 1, 5)},
                       {"m1", uniform({3}, -1, 1, 6)}});
  run_pass(passes::fuse_optimizer, *program);
  EXPECT_EQ(ops_of(*program), text(R"(
    fused_toy_signum(Grad=[g0, g1], LearningRate=lr, Mean=[m0, m1], Param=[w0, w1]) -> MeanOut=[m0, m1], ParamOut=[w0, w1] {beta=0.9}
  )"));
}

using NewRuleInLayers = layers::LayersTest;

TEST_F(NewRuleInLayers, IsAnOptimizer) {
  const layers::Variable loss = layers::mean(layers::fc(layers::data("x", {-1, 3}), 1));
  layers::Optimizer optimizer("toy_signum", {.learning_rate = 0.5, .attrs = {{"beta", 0.25f}}});
  optimizer.minimize(loss);
  EXPECT_EQ(print(main_->global_block().op(main_->global_block().size() - 1)),
            "toy_signum(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Mean=fc_0.w_0_mean_0, "
            "Param=fc_0.w_0) -> MeanOut=fc_0.w_0_mean_0, ParamOut=fc_0.w_0 {beta=0.25, op_role=2}");
  const Tensor x = tensor({{1, -2, 3}});
  const std::vector<double> before = values_of(run({{"x", x}}, {"fc_0.w_0"})[0]);
  EXPECT_THAT(run({{"x", x}}, {"fc_0.w_0"})[0],
              near({before[0] - 0.5, before[1] + 0.5, before[2] - 0.5}, 1e-6));
  EXPECT_REFUSED(layers::Optimizer("toy_signum", {.attrs = {{"betta", 1.0f}}}),
                 "the optimizer toy_signum has no setting \"betta\". Did you mean \"beta\"?");
}

TEST(NewRule, IsTheRuleOfATable) {
  const ps::Rule rule(ps::parse_table("table 0 w sparse width=2 rule=toy_signum(beta=0.75)"));
  ASSERT_EQ(rule.state_size(2), 2);
  std::vector<float> param = {1, 4}, state(2);
  rule.start(state, 2);
  rule.apply(param, std::vector<float>{1, -1}, state, {.lr = 0.5f});
  EXPECT_THAT(param, ElementsAre(0.5f, 4.5f));
  EXPECT_THAT(state, ElementsAre(0.25f, -0.25f));
}

// Each rule keeps what its ops are told to compare, whatever program they stand in.
TEST(EveryRule, HasAnOpThatComparesItsState) {
  EXPECT_THAT(rule_names(), Contains("toy_signum"));
  for (const std::string& name : rule_names()) {
    SCOPED_TRACE(name);
    const Rule& rule = *find_rule(name);
    for (const std::string& type : {name, "fused_" + name}) {
      const OpDef* def = find_op(type);
      ASSERT_EQ(def != nullptr, type == name || rule.fuses);
      if (def == nullptr) continue;
      EXPECT_EQ(def->find_input("Grad")->like, "Param");
      EXPECT_TRUE(def->find_input("LearningRate")->one);
      for (const State& state : rule.states) {
        EXPECT_EQ(def->find_input(state.slot)->like, "Param") << state.slot;
        EXPECT_EQ(def->find_output(state.out_slot())->like, "Param") << state.slot;
      }
      for (const Power& power : rule.powers) {
        EXPECT_TRUE(def->find_input(power.slot)->one) << power.slot;
      }
    }
  }
}

TEST(EveryRule, IsCheckedWhenItIsDefined) {
  const auto step = [](const auto&, const auto&) {};
  EXPECT_EQ(refusal_of([&] {
              define_rule(elementwise({.name = "a", .states = {{.start = "first"}}}, step));
            }),
            "the rule a has no setting \"first\", which it names");
  EXPECT_EQ(refusal_of([&] { define_rule({.name = "a"}); }), "the rule a has no step");
  EXPECT_EQ(refusal_of([&] { define_rule(elementwise({.name = "sgd"}, step)); }),
            "the rule \"sgd\" is defined twice");
  EXPECT_EQ(find_rule("a"), nullptr);
}

}  // namespace
}  // namespace flotilla::update
