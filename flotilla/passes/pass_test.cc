#include "flotilla/passes/pass.h"

#include "flotilla/ir/verify.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/random_model.h"

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
                 "fuse_bn_add_act, fuse_lookups, fuse_optimizer");
}

TEST(PlanPasses, PrintTheProgramAfterOne) {
  const EnvGuard dump("FLT_DUMP", "fuse_optimizer");
  ::testing::internal::CaptureStderr();
  run_plan_passes(*build(kTwoUpdates), {});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr("after fuse_optimizer"));
  EXPECT_THAT(said, ::testing::HasSubstr("fused_sgd(Grad=[g, g]"));
}

TEST(PlanPasses, ChangeNoResultOfRandomModels) {
  int64_t fused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RandomModel model(seed);
    if (model.draw(0, 3) > 0) model.train();
    const std::vector<std::string> fetches = model.draw_fetches();
    const auto changed = run_plan_passes(*model.program, fetches);
    verify(*changed, Stage::kParallel);
    for (const std::string_view type : {"fc", "fused_fc_grad", "fused_sgd"}) {
      fused += changed->global_block().count(type);
    }
    const EnvGuard no_more("FLT_SKIP_PASSES", "all");
    const std::vector<Tensor> expected = model.run(*model.program, fetches);
    const std::vector<Tensor> found = model.run(*changed, fetches);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_LE(distance(found[i], expected[i]), 1e-5)
          << "seed " << seed << ", " << fetches[i] << "\n"
          << ops_of(*model.program) << "==>\n"
          << ops_of(*changed);
    }
  }
  EXPECT_GT(fused, 300) << "too few programs had something to fuse";
}

}  // namespace
}  // namespace flotilla::passes
