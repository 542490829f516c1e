#include "flotilla/passes/pass.h"

#include <random>

#include "flotilla/autodiff/backward.h"
#include "flotilla/ir/verify.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::Not;

constexpr const char* kTwoUpdates = R"(
  var lr f32[1] persistable
  var w0 f32[2] persistable parameter
  var w1 f32[2] persistable parameter
  var g f32[2] data
  sgd(Grad=g, LearningRate=lr, Param=w0) -> ParamOut=w0
  sgd(Grad=g, LearningRate=lr, Param=w1) -> ParamOut=w1
)";

TEST(PlanPasses, WorkOnACopyAndReport) {
  const auto program = build(kTwoUpdates);
  const std::string before = print(*program);
  std::vector<PassReport> report;
  const auto after = run_plan_passes(*program, {}, &report);
  EXPECT_EQ(print(*program), before);
  EXPECT_EQ(after->global_block().count("fused_sgd"), 1);
  ASSERT_EQ(report.size(), plan_passes().size());
  for (size_t i = 0; i < report.size(); ++i) {
    EXPECT_EQ(report[i].name, plan_passes()[i].name);
    EXPECT_EQ(report[i].ops_before, 2);
    EXPECT_EQ(report[i].ops_after, report[i].name == "fuse_optimizer" ? 1 : 2);
    EXPECT_GE(report[i].milliseconds, 0);
  }
}

TEST(PlanPasses, CanBeSwitchedOff) {
  const auto program = build(kTwoUpdates);
  std::vector<PassReport> report;
  {
    const EnvGuard one("FLT_SKIP_PASSES", "fuse_fc, fuse_optimizer");
    EXPECT_EQ(run_plan_passes(*program, {}, &report)->global_block().count("sgd"), 2);
    EXPECT_EQ(report.size(), plan_passes().size() - 2);
    EXPECT_THAT(report, Each(Field(&PassReport::name, Not("fuse_optimizer"))));
  }
  const EnvGuard all("FLT_SKIP_PASSES", "all");
  EXPECT_EQ(ops_of(*run_plan_passes(*program, {})), ops_of(*program));
}

TEST(PlanPasses, RefuseANameThatNoneHas) {
  const EnvGuard skip("FLT_SKIP_PASSES", "fuse_optimiser");
  EXPECT_REFUSED(run_plan_passes(*build(kTwoUpdates), {}),
                 "FLT_SKIP_PASSES names the pass \"fuse_optimiser\", which is not there. Did you "
                 "mean \"fuse_optimizer\"? There are: all, fuse_fc_grad, fuse_fc, fuse_bn_act, "
                 "fuse_bn_add_act, fuse_optimizer");
}

TEST(PlanPasses, PrintTheProgramAfterOne) {
  const EnvGuard dump("FLT_DUMP", "fuse_optimizer");
  ::testing::internal::CaptureStderr();
  run_plan_passes(*build(kTwoUpdates), {});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr("after fuse_optimizer"));
  EXPECT_THAT(said, ::testing::HasSubstr("fused_sgd(Grad=[g, g]"));
}

// Draws a program of layers, activations and sums over a few names, some of which are written more
// than once, some read twice, some fetched, and half of them with gradients and updates.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : engine_(seed) {
    Block& block = program->global_block();
    block.add_var({.name = "lr", .shape = {1}, .persistable = true});
    persistables.push_back({"lr", tensor({0.1})});
    for (int i = 0; i < 2; ++i) {
      add_parameter(fmt::format("w{}", i), {3, 3});
      add_parameter(fmt::format("b{}", i), {3});
      const std::string name = fmt::format("x{}", i);
      block.add_var({.name = name, .shape = {3, 3}, .stop_gradient = i == 0, .is_data = true});
      feeds.push_back({name, uniform({3, 3}, -1, 1, engine_())});
      written_.push_back(name);
    }
    for (int i = draw(4, 14); i > 0; --i) add_layer();
    append_op(block, "reduce_mean", {{"X", {written_.back()}}}, {{"Out", {"loss"}}},
              {{"reduce_all", true}});
    if (draw(0, 3) > 0) train();
    fetches = {"loss", "w0", "w1", "b0", "b1"};
    for (const auto& var : block.vars()) {
      const bool dense = var->kind == VarKind::kTensor && is_floating(var->dtype);
      if (dense && draw(0, 7) == 0) fetches.push_back(var->name);
    }
  }

  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::vector<Feed> feeds;
  std::vector<Feed> persistables;
  std::vector<std::string> fetches;

 private:
  int draw(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<uint64_t>(most - least + 1));
  }

  void add_parameter(const std::string& name, const Shape& shape) {
    program->global_block().add_var(
        {.name = name, .shape = shape, .persistable = true, .parameter = ParameterInfo{}});
    persistables.push_back({name, uniform(shape, -1, 1, engine_())});
  }

  // Mostly what was written last, so that chains arise.
  std::string some_value() {
    return draw(0, 3) > 0
               ? written_.back()
               : written_[static_cast<size_t>(draw(0, static_cast<int>(written_.size()) - 1))];
  }

  std::string new_value() {
    std::string name = draw(0, 6) == 0 ? some_value() : fmt::format("t{}", next_++);
    written_.push_back(name);
    return name;
  }

  void add_layer() {
    Block& block = program->global_block();
    const std::string x = some_value(), y = some_value(), w = fmt::format("w{}", draw(0, 1)),
                      b = fmt::format("b{}", draw(0, 1));
    switch (draw(0, 6)) {
      case 0:
      case 1:
        append_op(block, "mul", {{"X", {x}}, {"Y", {w}}}, {{"Out", {new_value()}}});
        break;
      case 2:
        append_op(block, "matmul_v2", {{"X", {x}}, {"Y", {w}}}, {{"Out", {new_value()}}},
                  {{"trans_y", draw(0, 4) == 0}});
        break;
      case 3:
      case 4:
        append_op(block, "elementwise_add", {{"X", {x}}, {"Y", {b}}}, {{"Out", {new_value()}}},
                  {{"axis", draw(0, 4) == 0 ? 0 : 1}});
        break;
      case 5:
        append_op(block, draw(0, 1) == 0 ? "tanh" : "sigmoid", {{"X", {x}}},
                  {{"Out", {new_value()}}});
        break;
      default:
        append_op(block, "elementwise_add", {{"X", {x}}, {"Y", {y}}}, {{"Out", {new_value()}}});
    }
  }

  void train() {
    Block& block = program->global_block();
    const auto pairs = append_backward(block.var("loss"));
    const RoleGuard role(*program, kOptimizeRole);
    for (const ParamGrad& pair : pairs) {
      append_op(block, "sgd",
                {{"Param", {pair.param}}, {"Grad", {pair.grad}}, {"LearningRate", {"lr"}}},
                {{"ParamOut", {pair.param}}});
    }
  }

  std::mt19937_64 engine_;
  std::vector<std::string> written_;
  int next_ = 0;
};

std::vector<Tensor> run_fresh(const Program& program, const RandomProgram& drawn) {
  std::vector<Feed> persistables = drawn.persistables;
  for (Feed& feed : persistables) feed.tensor = feed.tensor.clone();
  return run_program(program, drawn.feeds, drawn.fetches, persistables);
}

TEST(PlanPasses, ChangeNoResultOfRandomPrograms) {
  int64_t fused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomProgram drawn(seed);
    const auto changed = run_plan_passes(*drawn.program, drawn.fetches);
    verify(*changed, Stage::kParallel);
    for (const std::string_view type : {"fc", "fused_fc_grad", "fused_sgd"}) {
      fused += changed->global_block().count(type);
    }
    const EnvGuard no_more("FLT_SKIP_PASSES", "all");
    const std::vector<Tensor> expected = run_fresh(*drawn.program, drawn);
    const std::vector<Tensor> found = run_fresh(*changed, drawn);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(distance(found[i], expected[i]), 1e-5)
          << "seed " << seed << ", " << drawn.fetches[i] << "\n"
          << ops_of(*drawn.program) << "==>\n"
          << ops_of(*changed);
    }
  }
  EXPECT_GT(fused, 300) << "too few programs had something to fuse";
}

}  // namespace
}  // namespace flotilla::passes
