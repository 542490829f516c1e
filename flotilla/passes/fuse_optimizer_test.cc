#include "flotilla/passes/fuse_optimizer.h"

#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

using ::testing::ElementsAre;

// Three parameters, one of which has another decay.
constexpr const char* kMomentum = R"(
  var lr f32[1] persistable
  var w0 f32[2] persistable parameter
  var w1 f32[3] persistable parameter
  var w2 f32[2] persistable parameter
  var g0 f32[2] data
  var g1 f32[3] data
  var g2 f32[2] data
  var v0 f32[2] persistable
  var v1 f32[3] persistable
  var v2 f32[2] persistable
  momentum(Grad=g0, LearningRate=lr, Param=w0, Velocity=v0) -> ParamOut=w0, VelocityOut=v0 {mu=0.9, op_role=2, op_role_var=["w0", "g0"], regularization_coeff=0.5, regularization_method="l2_decay"}
  momentum(Grad=g1, LearningRate=lr, Param=w1, Velocity=v1) -> ParamOut=w1, VelocityOut=v1 {mu=0.9, op_role=2, op_role_var=["w1", "g1"]}
  momentum(Grad=g2, LearningRate=lr, Param=w2, Velocity=v2) -> ParamOut=w2, VelocityOut=v2 {mu=0.9, op_role=2, op_role_var=["w2", "g2"], regularization_coeff=0.5, regularization_method="l2_decay"}
)";

TEST(FuseOptimizer, PutsAllUpdatesIntoOneOp) {
  const auto program = build(kMomentum);
  run_pass(fuse_optimizer, *program);
  EXPECT_EQ(ops_of(*program), text(R"(
    fused_momentum(Grad=[g0, g1, g2], LearningRate=lr, Param=[w0, w1, w2], Velocity=[v0, v1, v2]) -> ParamOut=[w0, w1, w2], VelocityOut=[v0, v1, v2] {mu=0.9, multi_precision=false, op_role=2, regularization_coeffs=[0.5, 0.0, 0.5], rescale_grad=1.0, use_nesterov=false}
  )"));
  EXPECT_THAT(program->global_block().op(0).attr<std::vector<std::string>>("op_role_var"),
              ElementsAre("w0", "g0", "w1", "g1", "w2", "g2"));
}

TEST(FuseOptimizer, ChangesNoResult) {
  const std::vector<Feed> feeds = {{"g0", uniform({2}, -1, 1, 1)},
                                   {"g1", uniform({3}, -1, 1, 2)},
                                   {"g2", uniform({2}, -1, 1, 3)}};
  const std::vector<Feed> persistables = {
      {"lr", tensor({0.1})},          {"w0", uniform({2}, -1, 1, 4)},
      {"w1", uniform({3}, -1, 1, 5)}, {"w2", uniform({2}, -1, 1, 6)},
      {"v0", uniform({2}, -1, 1, 7)}, {"v1", uniform({3}, -1, 1, 8)},
      {"v2", uniform({2}, -1, 1, 9)}};
  expect_same_results(fuse_optimizer, *build(kMomentum), feeds,
                      {"w0", "w1", "w2", "v0", "v1", "v2"}, persistables);
}

TEST(FuseOptimizer, FusesSgdAndAdam) {
  const auto sgd = build(R"(
    var lr f32[1] persistable
    var w0 f32[2] persistable parameter
    var w1 f32[3] persistable parameter
    var g0 f32[2] data
    var g1 f32[3] data
    sgd(Grad=g0, LearningRate=lr, Param=w0) -> ParamOut=w0
    sgd(Grad=g1, LearningRate=lr, Param=w1) -> ParamOut=w1
  )");
  expect_same_results(
      fuse_optimizer, *sgd, {{"g0", uniform({2}, -1, 1, 1)}, {"g1", uniform({3}, -1, 1, 2)}},
      {"w0", "w1"},
      {{"lr", tensor({0.1})}, {"w0", uniform({2}, -1, 1, 4)}, {"w1", uniform({3}, -1, 1, 5)}});

  const auto adam = build(R"(
    var lr f32[1] persistable
    var w0 f32[2] persistable parameter
    var w1 f32[3] persistable parameter
    var g0 f32[2] data
    var g1 f32[3] data
    var m0 f32[2] persistable
    var m1 f32[3] persistable
    var s0 f32[2] persistable
    var s1 f32[3] persistable
    var a0 f32[1] persistable
    var a1 f32[1] persistable
    var b0 f32[1] persistable
    var b1 f32[1] persistable
    adam(Beta1Pow=a0, Beta2Pow=b0, Grad=g0, LearningRate=lr, Moment1=m0, Moment2=s0, Param=w0) -> Beta1PowOut=a0, Beta2PowOut=b0, Moment1Out=m0, Moment2Out=s0, ParamOut=w0 {beta1=0.8}
    adam(Beta1Pow=a1, Beta2Pow=b1, Grad=g1, LearningRate=lr, Moment1=m1, Moment2=s1, Param=w1) -> Beta1PowOut=a1, Beta2PowOut=b1, Moment1Out=m1, Moment2Out=s1, ParamOut=w1 {beta1=0.8}
  )");
  expect_same_results(fuse_optimizer, *adam,
                      {{"g0", uniform({2}, -1, 1, 1)}, {"g1", uniform({3}, -1, 1, 2)}},
                      {"w0", "w1", "m0", "m1", "s0", "s1", "a0", "a1", "b0", "b1"},
                      {{"lr", tensor({0.1})},
                       {"w0", uniform({2}, -1, 1, 4)},
                       {"w1", uniform({3}, -1, 1, 5)},
                       {"m0", uniform({2}, -1, 1, 6)},
                       {"m1", uniform({3}, -1, 1, 7)},
                       {"s0", uniform({2}, 0, 1, 8)},
                       {"s1", uniform({3}, 0, 1, 9)},
                       {"a0", tensor({0.8})},
                       {"a1", tensor({0.64})},
                       {"b0", tensor({0.999})},
                       {"b1", tensor({0.998})}});
}

TEST(FuseOptimizer, KeepsUpdatesWithOtherSettingsApart) {
  const auto program = build(R"(
    var lr f32[1] persistable
    var slow f32[1] persistable
    var w0 f32[2] persistable parameter
    var w1 f32[2] persistable parameter
    var w2 f32[2] persistable parameter
    var w3 f32[2] persistable parameter
    var g f32[2] data
    var rows selected_rows f32[2]
    var ids i64[1] data
    var values f32[1] data
    sgd(Grad=g, LearningRate=lr, Param=w0) -> ParamOut=w0
    sgd(Grad=g, LearningRate=slow, Param=w1) -> ParamOut=w1
    sgd(Grad=g, LearningRate=lr, Param=w2) -> ParamOut=w2
    toy_rows(Rows=ids, Value=values) -> rows {height=2L}
    sgd(Grad=rows, LearningRate=lr, Param=w3) -> ParamOut=w3
  )");
  run_pass(fuse_optimizer, *program);
  EXPECT_EQ(ops_of(*program), text(R"(
    sgd(Grad=g, LearningRate=slow, Param=w1) -> ParamOut=w1
    fused_sgd(Grad=[g, g], LearningRate=lr, Param=[w0, w2]) -> ParamOut=[w0, w2] {multi_precision=false}
    toy_rows(Rows=ids, Value=values) -> rows {height=2L}
    sgd(Grad=rows, LearningRate=lr, Param=w3) -> ParamOut=w3
  )"));
}

// An update must not move below an op that reads the new parameter, or changes the learning rate.
TEST(FuseOptimizer, DoesNotMoveAnUpdateAcrossItsReaders) {
  const char* const ops = R"(
    var lr f32[1] persistable
    var w0 f32[2] persistable parameter
    var w1 f32[2] persistable parameter
    var g f32[2] data
    sgd(Grad=g, LearningRate=lr, Param=w0) -> ParamOut=w0
    {}
    sgd(Grad=g, LearningRate=lr, Param=w1) -> ParamOut=w1
  )";
  for (const std::string_view between :
       {"toy_square(X=w0) -> seen", "toy_scale(X=lr) -> lr {factor=0.5}",
        "sgd(Grad=g, LearningRate=lr, Param=w0) -> ParamOut=w0",
        "toy_scale(X=g) -> g {factor=0.5}"}) {
    std::string whole = ops;
    whole.replace(whole.find("{}"), 2, between);
    const auto program = build(whole);
    run_pass(fuse_optimizer, *program);
    const bool is_update = between.starts_with("sgd");
    EXPECT_EQ(program->global_block().count("sgd"), is_update ? 1 : 2) << between;
  }
}

}  // namespace
}  // namespace flotilla::passes
