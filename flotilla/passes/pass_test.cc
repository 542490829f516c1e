#include "flotilla/passes/pass.h"

#include <algorithm>

#include "flotilla/ir/verify.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/random_model.h"

namespace flotilla::passes {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTwoUpdates = R"(
  var lr f32[1] persistable
  var w0 f32[2] persistable parameter
  var w1 f32[2] persistable parameter
  var g f32[2] data
  sgd(Grad=g, LearningRate=lr, Param=w0) -> ParamOut=w0
  sgd(Grad=g, LearningRate=lr, Param=w1) -> ParamOut=w1
)";

std::vector<PassRow> plan_passes() {
  std::vector<PassRow> rows;
  std::copy_if(all_passes().begin(), all_passes().end(), std::back_inserter(rows),
               [](const PassRow& row) { return row.stage == PassStage::kPlan; });
  return rows;
}

TEST(AllPasses, HaveANameAFlagOfTheStrategyAndASentence) {
  const DistributedStrategy strategy;
  std::set<std::string_view> names;
  for (const PassRow& row : all_passes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands there twice";
    EXPECT_NE(row.name, "all");
    EXPECT_NE(row.run, nullptr) << row.name;
    EXPECT_THAT(row.doc, Not(IsEmpty())) << row.name;
    if (!row.option.empty()) {
      EXPECT_TRUE(std::holds_alternative<bool>(strategy.get(row.option).value)) << row.name;
    }
  }
}

TEST(RunPasses, TakesThoseOfTheStageThatAreWanted) {
  const auto program = build(kTwoUpdates);
  static std::vector<std::string> ran;
  ran.clear();
  const std::vector<PassRow> rows = {
      {.name = "always", .run = [](PassContext&) { ran.emplace_back("always"); }, .doc = "a"},
      {.name = "asked", .option = "lamb", .run = [](PassContext&) { ran.emplace_back("asked"); }},
      {.name = "not_asked",
       .option = "lars",
       .run = [](PassContext&) { ran.emplace_back("not_asked"); }},
      {.name = "among_ranks",
       .when = [](const PassContext& c) { return c.ranks.count > 1; },
       .run = [](PassContext&) { ran.emplace_back("among_ranks"); }},
      {.name = "later", .stage = PassStage::kAfterUpdate, .run = [](PassContext&) {
         ran.emplace_back("later");
       }}};
  PassContext context = {.main = *program};
  context.strategy.set("lamb", true);
  run_passes(PassStage::kPlan, context, rows);
  EXPECT_THAT(ran, ElementsAre("always", "asked"));
}

TEST(RunPasses, NamesTheOneThatBreaksAProgram) {
  const std::vector<PassRow> rows = {
      {.name = "harmless", .run = [](PassContext& c) { c.main.global_block().erase(0); }},
      {.name = "breaks",
       .run = [](PassContext& c) { c.main.global_block().op(0).set_input("Grad", {"nowhere"}); }}};
  const auto program = build(kTwoUpdates);
  PassContext context = {.main = *program};
  const std::string message = message_of([&] { run_passes(PassStage::kPlan, context, rows); });
  EXPECT_THAT(message, HasSubstr("nowhere"));
  EXPECT_THAT(message, HasSubstr("breaks"));
  EXPECT_THAT(message, Not(HasSubstr("harmless")));
}

// Leaving out a pass of a plan changes no result; leaving out one of a strategy does, and is said.
TEST(RunPasses, SaysWhatIsLeftOutOfAStrategy) {
  const std::vector<PassRow> rows = {{.name = "halve_steps",
                                      .stage = PassStage::kAfterUpdate,
                                      .run = [](PassContext& c) { c.main.global_block().erase(0); },
                                      .doc = "half of the updates are gone"}};
  const auto program = build(kTwoUpdates);
  PassContext context = {.main = *program};
  {
    const EnvGuard skip("FLT_SKIP_PASSES", "halve_steps");
    EXPECT_THAT(run_passes(PassStage::kAfterUpdate, context, rows), IsEmpty());
  }
  EXPECT_EQ(program->global_block().size(), 2);
  EXPECT_THAT(context.notices, ElementsAre("FLT_SKIP_PASSES leaves out halve_steps: half of the "
                                           "updates are gone."));
  const EnvGuard all("FLT_SKIP_PASSES", "all");
  EXPECT_EQ(run_passes(PassStage::kAfterUpdate, context, rows).size(), 1);
  EXPECT_EQ(program->global_block().size(), 1);
}

TEST(PlanPasses, WorkOnACopyAndReport) {
  const auto program = build(kTwoUpdates);
  const std::string before = print(*program);
  std::vector<PassReport> report;
  const auto after = run_plan_passes(*program, {}, &report);
  EXPECT_EQ(print(*program), before);
  EXPECT_EQ(after->global_block().count("fused_sgd"), 1);
  const std::vector<PassRow> rows = plan_passes();
  ASSERT_EQ(report.size(), rows.size());
  for (size_t i = 0; i < report.size(); ++i) {
    EXPECT_EQ(report[i].name, rows[i].name);
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
  EXPECT_REFUSED(
      run_plan_passes(*build(kTwoUpdates), {}),
      "FLT_SKIP_PASSES names the unknown pass \"fuse_optimiser\". Did you mean \"fuse_optimizer\"? "
      "The passes are: all, lars, lamb, sync_batch_norm, gradient_merge, insert_all_reduce, "
      "fuse_all_reduce, local_sgd, broadcast_parameters, ps_split, lower, fuse_fc_grad, fuse_fc, "
      "fuse_bn_act, fuse_bn_add_act, fuse_lookups, fuse_optimizer");
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
