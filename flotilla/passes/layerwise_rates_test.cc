#include "flotilla/passes/layerwise_rates.h"

#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LayerwiseRates : public TrainingTest {
 protected:
  std::string updates() const { return lines_from(main_->global_block(), kOptimizeRole); }
};

TEST_F(LayerwiseRates, TurnsMomentumIntoLars) {
  layers::momentum(0.5, 0.8f).minimize(linear());
  EXPECT_THAT(use_lars(*main_, {.coeff = 0.25f, .weight_decay = 0.5f, .exclude = {".b_"}}),
              IsEmpty());
  verify(*main_, Stage::kTraining);
  EXPECT_EQ(updates(), text(R"(
    lars_momentum(Grad=fc_0.b_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.b_0, Velocity=fc_0.b_0_velocity_0) -> ParamOut=fc_0.b_0, VelocityOut=fc_0.b_0_velocity_0 {epsilon=0.0, lars_coeff=0.25, lars_weight_decay=[0.0], mu=0.8, multi_precision=false, rescale_grad=1.0}
    lars_momentum(Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, Param=fc_0.w_0, Velocity=fc_0.w_0_velocity_0) -> ParamOut=fc_0.w_0, VelocityOut=fc_0.w_0_velocity_0 {epsilon=0.0, lars_coeff=0.25, lars_weight_decay=[0.5], mu=0.8, multi_precision=false, rescale_grad=1.0}
  )"));
}

// The same numbers as an optimizer of that name.
TEST_F(LayerwiseRates, UpdatesAsTheOptimizerItself) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const auto trained = [&](bool by_pass) {
    const auto main = std::make_shared<Program>(), startup = std::make_shared<Program>();
    const layers::ProgramGuard programs(main, startup);
    const layers::NameGuard names;
    const layers::Variable loss = linear({.initializer = layers::constant(0.5)});
    layers::Optimizer(by_pass ? "adam" : "lamb",
                      {.learning_rate = 0.1, .attrs = {{"epsilon", 1e-6f}}})
        .minimize(loss);
    if (by_pass) use_lamb(*main, {});
    Scope scope;
    Executor executor;
    executor.run(*startup, {}, {}, scope);
    for (int i = 0; i < 3; ++i) executor.run(*main, {{"x", x}}, {}, scope);
    return values_of(*scope.find("fc_0.w_0"));
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST_F(LayerwiseRates, ExcludesParametersOfLambByTheirEnds) {
  layers::adam(0.5).minimize(linear());
  use_lamb(*main_, {.weight_decay = 0.25f, .exclude = {"fc", ".b_0"}});
  EXPECT_THAT(updates(), HasSubstr("Param=fc_0.b_0) -> Beta1PowOut"));
  std::vector<float> decays;
  for (const auto& op : main_->global_block().ops()) {
    if (op->type() == "lamb") decays.push_back(op->attr<float>("weight_decay"));
  }
  EXPECT_THAT(decays, ElementsAre(0.0f, 0.25f));
}

TEST_F(LayerwiseRates, SaysWhatItDoesNot) {
  layers::momentum(0.5, 0.8f, layers::l2_decay(0.1f)).minimize(linear());
  EXPECT_THAT(use_lamb(*main_, {}),
              ElementsAre("strategy.lamb = True has no effect: it changes Adam, and the program "
                          "has no such update."));
  EXPECT_THAT(use_lars(*main_, {}), ElementsAre("strategy.lars = True: the L2 decay of Momentum "
                                                "gives way to lars_weight_decay."));
}

TEST_F(LayerwiseRates, RefusesSparseGradients) {
  const layers::Variable ids = layers::data("ids", {-1}, i64);
  layers::momentum(0.5).minimize(layers::mean(layers::embedding(ids, 4, 2, {.is_sparse = true})));
  EXPECT_REFUSED(use_lars(*main_, {}),
                 "lars_momentum needs dense gradients, but that of \"embedding_0.w_0\" is sparse");
}

}  // namespace
}  // namespace flotilla::passes
