#include "flotilla/passes/fuse_fc.h"

#include "flotilla/autodiff/backward.h"
#include "flotilla/passes/fuse_fc_grad.h"
#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

constexpr const char* kLayers = R"(
  var x f32[-1, 3] data stop_gradient
  var w0 f32[3, 4] persistable parameter
  var b0 f32[4] persistable parameter
  var w1 f32[4, 2] persistable parameter
  var b1 f32[2] persistable parameter
  mul(X=x, Y=w0) -> m0
  elementwise_add(X=m0, Y=b0) -> a0 {axis=1}
  tanh(X=a0) -> y0
  matmul_v2(X=y0, Y=w1) -> m1
  elementwise_add(X=m1, Y=b1) -> y1
)";

std::shared_ptr<Program> trained() {
  auto program = build(std::string(kLayers) + R"(
    reduce_mean(X=y1) -> loss {reduce_all=true}
  )");
  append_backward(program->global_block().var("loss"));
  return program;
}

const std::vector<Feed> kFeeds = {{"x", uniform({5, 3}, -1, 1, 1)}};
const std::vector<Feed> kParameters = {{"w0", uniform({3, 4}, -1, 1, 2)},
                                       {"b0", uniform({4}, -1, 1, 3)},
                                       {"w1", uniform({4, 2}, -1, 1, 4)},
                                       {"b1", uniform({2}, -1, 1, 5)}};

TEST(FuseFc, TakesProductBiasAndActivation) {
  const auto program = build(kLayers);
  run_pass(fuse_fc, *program, {"y1"});
  EXPECT_EQ(ops_of(*program), text(R"(
    fc(Bias=b0, Input=x, W=w0) -> y0 {activation_type="tanh", in_num_col_dims=1}
    fc(Bias=b1, Input=y0, W=w1) -> y1 {in_num_col_dims=1}
  )"));
}

TEST(FuseFc, KeepsWhatTheGradientMeasures) {
  const auto program = trained();
  run_pass(fuse_fc, *program, {"loss"});
  EXPECT_EQ(program->global_block().count("fc"), 2);
  EXPECT_EQ(print(program->global_block().op(0)),
            "fc(Bias=b0, Input=x, W=w0) -> MulOut=m0, Out=y0 {activation_type=\"tanh\", "
            "in_num_col_dims=1}");
}

TEST(FuseFc, ChangesNoResult) {
  expect_same_results(fuse_fc, *build(kLayers), kFeeds, {"y0", "y1"}, kParameters);
  expect_same_results(fuse_fc, *trained(), kFeeds, {"loss", "w0@GRAD", "b0@GRAD"}, kParameters);
}

// The fetch sees a0, so only the product and the bias may be fused.
TEST(FuseFc, LeavesWhatIsFetched) {
  const auto program = build(kLayers);
  run_pass(fuse_fc, *program, {"a0", "m1", "y1"});
  EXPECT_EQ(ops_of(*program), text(R"(
    fc(Bias=b0, Input=x, W=w0) -> a0 {in_num_col_dims=1}
    tanh(X=a0) -> y0
    matmul_v2(X=y0, Y=w1) -> m1
    elementwise_add(X=m1, Y=b1) -> y1
  )"));
}

TEST(FuseFc, LeavesOtherProductsAndSums) {
  for (const std::string_view ops :
       {"matmul_v2(X=x, Y=w) -> m {trans_y=true}\n elementwise_add(X=m, Y=b) -> y",
        "matmul_v2(X=x, Y=v) -> m\n elementwise_add(X=m, Y=b) -> y",
        "matmul_v2(X=x, Y=w) -> m\n elementwise_add(X=m, Y=x) -> y",
        "matmul_v2(X=x, Y=w) -> m\n elementwise_add(X=m, Y=b) -> y {axis=0}",
        "matmul_v2(X=x, Y=w) -> m\n toy_square(X=m) -> z\n elementwise_add(X=m, Y=b) -> y",
        "matmul_v2(X=x, Y=w) -> m\n toy_square(X=m) -> m\n elementwise_add(X=m, Y=b) -> y",
        "matmul_v2(X=x, Y=w) -> m\n toy_square(X=x) -> x\n elementwise_add(X=m, Y=b) -> y",
        "matmul_v2(X=x, Y=w) -> m\n toy_square(X=w) -> w\n elementwise_add(X=m, Y=b) -> y"}) {
    const auto program = build(R"(
      var x f32[3, 3] data
      var v f32[3, 3] data
      var w f32[3, 3] persistable parameter
      var b f32[3] persistable parameter
    )" + std::string(ops));
    run_pass(fuse_fc, *program, {"y"});
    EXPECT_EQ(program->global_block().count("fc"), 0) << ops;
  }
}

// y is written before it is read here; the product may not move below its reader.
TEST(FuseFc, RespectsVariablesThatAreWrittenTwice) {
  const auto program = build(R"(
    var x f32[3, 3] data
    var w f32[3, 3] persistable parameter
    var b f32[3] persistable parameter
    matmul_v2(X=x, Y=w) -> m
    elementwise_add(X=m, Y=b) -> x
    matmul_v2(X=x, Y=w) -> n
    elementwise_add(X=n, Y=b) -> y
  )");
  expect_same_results(fuse_fc, *program, {{"x", uniform({3, 3}, -1, 1, 1)}}, {"x", "y"},
                      {{"w", uniform({3, 3}, -1, 1, 2)}, {"b", uniform({3}, -1, 1, 3)}});
}

TEST(FuseFc, KeepsTheUsersLineOfTheProduct) {
  const auto program = build(kLayers);
  program->global_block().op(0).set_attr("op_callstack",
                                         std::vector<std::string>{"train.py:7 in model"});
  run_pass(fuse_fc, *program, {"y1"});
  EXPECT_EQ(user_line(program->global_block().op(0)), "train.py:7 in model");
}

TEST(FuseFcGrad, TakesTheGradientsOfActivationBiasAndProduct) {
  const auto program = trained();
  run_pass(fuse_fc_grad, *program, {"loss"});
  std::string tail;
  for (size_t i = 8; i < program->global_block().size(); ++i) {
    tail += print(program->global_block().op(i)) + "\n";
  }
  EXPECT_EQ(tail, text(R"(
    fused_fc_grad(Bias=b1, Input=y0, Out@GRAD=y1@GRAD, W=w1) -> Bias@GRAD=b1@GRAD, Input@GRAD=y0@GRAD, W@GRAD=w1@GRAD {in_num_col_dims=1, op_role=1}
    fused_fc_grad(Bias=b0, Input=x, Out=y0, Out@GRAD=y0@GRAD, W=w0) -> Bias@GRAD=b0@GRAD, W@GRAD=w0@GRAD {activation_type="tanh", in_num_col_dims=1, op_role=1}
  )"));
}

TEST(FuseFcGrad, ChangesNoResult) {
  expect_same_results(fuse_fc_grad, *trained(), kFeeds,
                      {"loss", "w0@GRAD", "b0@GRAD", "w1@GRAD", "b1@GRAD", "y0@GRAD"}, kParameters);
}

TEST(FuseFcGrad, LeavesWhatIsFetched) {
  const auto program = trained();
  run_pass(fuse_fc_grad, *program, {"a0@GRAD", "m1@GRAD"});
  EXPECT_EQ(program->global_block().count("tanh_grad"), 1);
  EXPECT_EQ(program->global_block().count("matmul_v2_grad"), 1);
  EXPECT_EQ(program->global_block().count("fused_fc_grad"), 1);
}

// Both together: nothing measures the product any more.
TEST(FuseFcGrad, LeavesNothingOfTheProductForTheForwardOp) {
  const auto program = trained();
  run_pass(fuse_fc_grad, *program, {"loss"});
  run_pass(fuse_fc, *program, {"loss"});
  EXPECT_EQ(print(program->global_block().op(0)),
            "fc(Bias=b0, Input=x, W=w0) -> y0 {activation_type=\"tanh\", in_num_col_dims=1}");
  const EnvGuard no_more("FLT_SKIP_PASSES", "all");
  const std::vector<std::string> fetches = {"loss", "w0@GRAD", "b0@GRAD", "w1@GRAD", "b1@GRAD"};
  const std::vector<Tensor> found = run_program(*program, kFeeds, fetches, kParameters);
  const std::vector<Tensor> expected = run_program(*trained(), kFeeds, fetches, kParameters);
  for (size_t i = 0; i < fetches.size(); ++i) {
    EXPECT_LE(distance(found[i], expected[i]), 1e-6) << fetches[i];
  }
}

}  // namespace
}  // namespace flotilla::passes
