#include "flotilla/passes/fuse_bn_act.h"

#include "flotilla/autodiff/backward.h"
#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

constexpr const char* kVars = R"(
  var x f32[2, 3, 4, 4] data
  var z f32[2, 3, 4, 4] data
  var s f32[3] persistable parameter
  var b f32[3] persistable parameter
  var m f32[3] persistable stop_gradient
  var v f32[3] persistable stop_gradient
)";

constexpr const char* kNorm = R"(
  batch_norm(Bias=b, Mean=m, Scale=s, Variance=v, X=x) -> MeanOut=m, SavedMean=sm, SavedVariance=sv, VarianceOut=v, Y=n
)";

constexpr const char* kRelu = R"(
  relu(X=n) -> y
)";

constexpr const char* kResidual = R"(
  elementwise_add(X=z, Y=n) -> a
  relu(X=a) -> y
)";

constexpr const char* kLoss = R"(
  square(X=y) -> q
  reduce_mean(X=q) -> loss {reduce_all=true}
)";

std::shared_ptr<Program> forward(std::string_view tail) {
  return build(fmt::format("{}{}{}{}", kVars, kNorm, tail, kLoss));
}

std::shared_ptr<Program> trained(std::string_view tail) {
  auto program = forward(tail);
  append_backward(program->global_block().var("loss"));
  return program;
}

std::vector<std::string> types_of(const Program& program) {
  std::vector<std::string> types;
  for (const auto& op : program.global_block().ops()) types.push_back(op->type());
  return types;
}

const std::vector<Feed> kFeeds = {{"x", uniform({2, 3, 4, 4}, -1, 2, 1)},
                                  {"z", uniform({2, 3, 4, 4}, -1, 1, 2)}};
const std::vector<Feed> kPersistables = {{"s", uniform({3}, 0.5, 1.5, 3)},
                                         {"b", uniform({3}, -1, 1, 4)},
                                         {"m", uniform({3}, -1, 1, 5)},
                                         {"v", uniform({3}, 0.5, 1.5, 6)}};

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(FuseBnAct, TakesBatchNormAndRelu) {
  const auto program = forward(kRelu);
  run_pass(fuse_bn_act, *program, {"loss"});
  EXPECT_THAT(types_of(*program), ElementsAre("fused_bn_act", "square", "reduce_mean"));
  EXPECT_EQ(program->global_block().op(0).output("Y"), "y");
  EXPECT_EQ(program->global_block().op(0).output("MeanOut"), "m");
}

TEST(FuseBnAct, TakesBothSidesOfTraining) {
  const auto program = trained(kRelu);
  run_pass(fuse_bn_act, *program, {"loss"});
  EXPECT_THAT(types_of(*program),
              ElementsAre("fused_bn_act", "square", "reduce_mean", "fill_constant",
                          "reduce_mean_grad", "square_grad", "fused_bn_act_grad"));
  const Op& grad = program->global_block().op(6);
  EXPECT_EQ(grad.input("Y@GRAD"), "y@GRAD");
  EXPECT_EQ(grad.output("X@GRAD"), "x@GRAD");
  EXPECT_EQ(grad.output("Scale@GRAD"), "s@GRAD");
  EXPECT_EQ(grad.role(), kBackwardRole);
}

TEST(FuseBnAddAct, TakesTheSumInBetween) {
  const auto program = trained(kResidual);
  run_pass(fuse_bn_add_act, *program, {"loss"});
  EXPECT_THAT(types_of(*program),
              ElementsAre("fused_bn_add_act", "square", "reduce_mean", "fill_constant",
                          "reduce_mean_grad", "square_grad", "fused_bn_add_act_grad"));
  EXPECT_EQ(program->global_block().op(0).input("Z"), "z");
  EXPECT_EQ(program->global_block().op(6).output("Z@GRAD"), "z@GRAD");
}

TEST(FuseBnAct, ChangesNoResult) {
  const std::vector<std::string> forward_only = {"loss", "y", "m", "v"};
  expect_same_results(fuse_bn_act, *forward(kRelu), kFeeds, forward_only, kPersistables, 1e-5);
  expect_same_results(fuse_bn_add_act, *forward(kResidual), kFeeds, forward_only, kPersistables,
                      1e-5);
  std::vector<std::string> all = {"loss", "y", "m", "v", "x@GRAD", "s@GRAD", "b@GRAD"};
  expect_same_results(fuse_bn_act, *trained(kRelu), kFeeds, all, kPersistables, 1e-5);
  all.push_back("z@GRAD");
  expect_same_results(fuse_bn_add_act, *trained(kResidual), kFeeds, all, kPersistables, 1e-5);
}

TEST(FuseBnAct, ChangesNoResultOfATestProgram) {
  for (const char* const tail : {kRelu, kResidual}) {
    const auto program = forward(tail);
    program->global_block().op(0).set_attr("is_test", true);
    const Pass pass = tail == kRelu ? fuse_bn_act : fuse_bn_add_act;
    expect_same_results(pass, *program, kFeeds, {"loss", "y", "m", "v"}, kPersistables, 1e-5);
  }
}

// Either the sum takes the batch norm that comes later, or both stay as they are.
TEST(FuseBnAddAct, TakesOneOfTwoBatchNorms) {
  const auto program = build(std::string(kVars) + kNorm + R"(
    var m2 f32[3] persistable stop_gradient
    var v2 f32[3] persistable stop_gradient
    batch_norm(Bias=b, Mean=m2, Scale=s, Variance=v2, X=z) -> MeanOut=m2, SavedMean=sm2, SavedVariance=sv2, VarianceOut=v2, Y=n2
    elementwise_add(X=n, Y=n2) -> a
    relu(X=a) -> y
  )" + kLoss);
  append_backward(program->global_block().var("loss"));
  std::vector<Feed> persistables = kPersistables;
  persistables.push_back({"m2", uniform({3}, -1, 1, 7)});
  persistables.push_back({"v2", uniform({3}, 0.5, 1.5, 8)});
  expect_same_results(fuse_bn_add_act, *program, kFeeds,
                      {"loss", "m2", "x@GRAD", "z@GRAD", "s@GRAD", "b@GRAD"}, persistables, 1e-5);
  run_pass(fuse_bn_add_act, *program, {"loss"});
  EXPECT_EQ(program->global_block().op(1).type(), "fused_bn_add_act");
  EXPECT_EQ(program->global_block().op(1).input("X"), "z");
  EXPECT_EQ(program->global_block().op(1).input("Z"), "n");
}

// n, a and their gradients are not there afterwards: whoever looks at them stops the fusion.
TEST(FuseBnAct, LeavesWhatOthersSee) {
  for (const char* const seen : {"n", "n@GRAD"}) {
    const auto program = trained(kRelu);
    run_pass(fuse_bn_act, *program, {"loss", seen});
    EXPECT_THAT(types_of(*program), Not(Contains("fused_bn_act"))) << seen;
    EXPECT_THAT(types_of(*program), Not(Contains("fused_bn_act_grad"))) << seen;
  }
  for (const char* const seen : {"n", "a", "n@GRAD", "a@GRAD"}) {
    const auto program = trained(kResidual);
    run_pass(fuse_bn_add_act, *program, {"loss", seen});
    EXPECT_THAT(types_of(*program), Not(Contains("fused_bn_add_act"))) << seen;
  }
  const auto twice = build(std::string(kVars) + kNorm + kRelu + R"(
    square(X=n) -> other
  )");
  run_pass(fuse_bn_act, *twice, {"y", "other"});
  EXPECT_THAT(types_of(*twice), ElementsAre("batch_norm", "relu", "square"));
}

TEST(FuseBnAct, LeavesASumThatBroadcasts) {
  const auto program = build(std::string(kVars) + kNorm + R"(
    elementwise_add(X=n, Y=s) -> a {axis=1}
    relu(X=a) -> y
  )");
  run_pass(fuse_bn_add_act, *program, {"y"});
  EXPECT_THAT(types_of(*program), ElementsAre("batch_norm", "elementwise_add", "relu"));
}

// The relu overwrites what it reads.
TEST(FuseBnAct, LeavesAVariableThatIsWrittenTwice) {
  const auto program = build(std::string(kVars) + kNorm + R"(
    relu(X=n) -> n
  )");
  run_pass(fuse_bn_act, *program, {"n"});
  EXPECT_THAT(types_of(*program), ElementsAre("batch_norm", "relu"));
}

}  // namespace
}  // namespace flotilla::passes
