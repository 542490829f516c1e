#include "flotilla/autodiff/backward.h"

#include "flotilla/ir/verify.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

// Those of role backward.
std::string ops_of(const Block& block) {
  std::string out;
  for (const auto& op : block.ops()) {
    if ((op->role() & kBackwardRole) == 0) continue;
    Op bare = *op;
    bare.remove_attr("op_role");
    out += print(bare) + "\n";
  }
  return out;
}

// Appends the gradient and returns its ops.
std::string backward_of(Program& program, const BackwardOptions& options = {}) {
  append_backward(program.global_block().var("loss"), options);
  verify(program, Stage::kBackward);
  return ops_of(program.global_block());
}

TEST(AppendBackward, SeedsTheLossAndWalksBack) {
  const auto program = build(R"(
    var x f32[2] data stop_gradient
    var w f32[2] persistable parameter
    toy_mul(X=x, Y=w) -> y
    toy_sum(X=y) -> loss
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=y) -> X@GRAD=y@GRAD
    toy_mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> Y@GRAD=w@GRAD
  )"));
  const Block& block = program->global_block();
  EXPECT_EQ(block.op(1).role(), kForwardRole | kLossRole);
  EXPECT_EQ(block.op(2).role(), kBackwardRole | kLossRole);
  EXPECT_THAT(block.op(4).attr<std::vector<std::string>>("op_role_var"),
              ElementsAre("w", "w@GRAD"));
  EXPECT_FALSE(block.op(3).attrs().contains("op_role_var"));
  EXPECT_EQ(block.var("w@GRAD").shape, Shape({2}));
  EXPECT_EQ(block.find_var("x@GRAD"), nullptr);
}

TEST(AppendBackward, SumsTheUsesOfAVariable) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_scale(X=w) -> a {factor=2.0}
    toy_mul(X=a, Y=a) -> b
    toy_mul(X=a, Y=w) -> c
    toy_join(X=[b, c]) -> d
    toy_sum(X=d) -> loss
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=d) -> X@GRAD=d@GRAD
    toy_halves(X=d@GRAD) -> [b@GRAD, c@GRAD]
    toy_mul_grad(Out@GRAD=c@GRAD, X=a, Y=w) -> X@GRAD=a@GRAD@RENAME@block0@0, Y@GRAD=w@GRAD@RENAME@block0@0
    toy_mul_grad(Out@GRAD=b@GRAD, X=a, Y=a) -> X@GRAD=a@GRAD@RENAME@block0@1, Y@GRAD=a@GRAD@RENAME@block0@2
    sum(X=[a@GRAD@RENAME@block0@0, a@GRAD@RENAME@block0@1, a@GRAD@RENAME@block0@2]) -> a@GRAD
    toy_scale_grad(Out@GRAD=a@GRAD) -> X@GRAD=w@GRAD@RENAME@block0@1 {factor=2.0}
    sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> w@GRAD
  )"));
  // loss = 4 w^2 + 2 w^2
  EXPECT_THAT(run_program(*program, {}, {"loss", "w@GRAD"}, {{"w", tensor({1, 3})}}),
              ElementsAre(near({60}, 1e-5), near({12, 36}, 1e-5)));
}

TEST(AppendBackward, FollowsTheOrderWhereAVariableIsWrittenTwice) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_square(X=a) -> a
    toy_mul(X=a, Y=w) -> b
    toy_sum(X=b) -> loss
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=b) -> X@GRAD=b@GRAD
    toy_mul_grad(Out@GRAD=b@GRAD, X=a, Y=w) -> X@GRAD=a@GRAD, Y@GRAD=w@GRAD@RENAME@block0@0
    toy_square_grad(Out@GRAD=a@GRAD, X=a@SAVED@0) -> X@GRAD=a@GRAD
    toy_square_grad(Out@GRAD=a@GRAD, X=w) -> X@GRAD=w@GRAD@RENAME@block0@1
    sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> w@GRAD
  )"));
  // The value that is overwritten was saved; loss = w^5.
  EXPECT_EQ(print(program->global_block().op(1)), "assign(X=a) -> a@SAVED@0");
  EXPECT_THAT(run_program(*program, {}, {"loss", "w@GRAD"}, {{"w", tensor({1, 2})}}),
              ElementsAre(near({33}, 1e-4), near({5, 80}, 1e-4)));
}

TEST(AppendBackward, AnOutputWithoutGradientCountsAsZero) {
  const auto program = build(R"(
    var w f32[4] persistable parameter
    toy_halves(X=w) -> [a, b]
    toy_sum(X=b) -> loss
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=b) -> X@GRAD=b@GRAD
    fill_zeros_like(X=a) -> a@GRAD
    toy_halves_grad(Out@GRAD=[a@GRAD, b@GRAD]) -> X@GRAD=w@GRAD
  )"));
  EXPECT_THAT(run_program(*program, {}, {"w@GRAD"}, {{"w", tensor({1, 2, 3, 4})}}),
              ElementsAre(near({0, 0, 1, 1}, 0)));
}

TEST(AppendBackward, MarksUnneededMembersOfAList) {
  const auto program = build(R"(
    var x f32[2] data stop_gradient
    var w f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_join(X=[x, a]) -> b
    toy_sum(X=b) -> loss
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=b) -> X@GRAD=b@GRAD
    toy_halves(X=b@GRAD) -> [b@UNUSED, a@GRAD]
    toy_square_grad(Out@GRAD=a@GRAD, X=w) -> X@GRAD=w@GRAD
  )"));
}

TEST(AppendBackward, RespectsStopGradientAndNoGradSet) {
  const char* const model = R"(
    var w f32[2] persistable parameter
    var v f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_mul(X=a, Y=v) -> b
    toy_sum(X=b) -> loss
  )";
  const auto stopped = build(model);
  stopped->global_block().var("a").stop_gradient = true;
  EXPECT_THAT(append_backward(stopped->global_block().var("loss")),
              ElementsAre(ParamGrad{"v", "v@GRAD"}));
  EXPECT_EQ(stopped->global_block().count("toy_square_grad"), 0);

  const auto excluded = build(model);
  EXPECT_THAT(append_backward(excluded->global_block().var("loss"), {.no_grad_set = {"v"}}),
              ElementsAre(ParamGrad{"w", "w@GRAD"}));

  const auto frozen = build(model);
  frozen->global_block().var("w").parameter->trainable = false;
  EXPECT_THAT(append_backward(frozen->global_block().var("loss")),
              ElementsAre(ParamGrad{"v", "v@GRAD"}));
}

TEST(AppendBackward, StopsWhereAnOpIsNotDifferentiable) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    var v f32[2] persistable parameter
    toy_sign(X=w) -> a
    toy_mul(X=a, Y=v) -> b
    toy_sum(X=b) -> loss
  )");
  EXPECT_THAT(append_backward(program->global_block().var("loss")),
              ElementsAre(ParamGrad{"v", "v@GRAD"}));
  EXPECT_EQ(program->global_block().find_var("a@GRAD"), nullptr);
}

TEST(AppendBackward, GivesTheParametersOfTheListInItsOrder) {
  const char* const model = R"(
    var w f32[2] persistable parameter
    var v f32[2] persistable parameter
    var u f32[2] persistable parameter
    toy_mul(X=v, Y=u) -> a
    toy_mul(X=a, Y=w) -> b
    toy_sum(X=b) -> loss
  )";
  const auto all = build(model);
  EXPECT_THAT(
      append_backward(all->global_block().var("loss")),
      ElementsAre(ParamGrad{"w", "w@GRAD"}, ParamGrad{"v", "v@GRAD"}, ParamGrad{"u", "u@GRAD"}));
  const auto some = build(model);
  EXPECT_THAT(append_backward(some->global_block().var("loss"), {.parameter_list = {"u", "w"}}),
              ElementsAre(ParamGrad{"u", "u@GRAD"}, ParamGrad{"w", "w@GRAD"}));
  EXPECT_EQ(some->global_block().find_var("v@GRAD"), nullptr);
}

TEST(AppendBackward, SparseRowsFollowFromTheGradientOp) {
  const auto program = build(R"(
    var ids i64[3] data
    var w f32[5, 2] persistable parameter
    toy_gather(W=w, Ids=ids) -> rows
    toy_sum(X=rows) -> loss
  )");
  EXPECT_THAT(append_backward(program->global_block().var("loss")),
              ElementsAre(ParamGrad{"w", "w@GRAD"}));
  EXPECT_EQ(program->global_block().var("w@GRAD").kind, VarKind::kSelectedRows);
  EXPECT_THAT(run_program(*program, {{"ids", ints({1, 3, 1})}}, {"w@GRAD"},
                          {{"w", uniform({5, 2}, -1, 1)}}),
              ElementsAre(near({0, 0, 2, 2, 0, 0, 1, 1, 0, 0}, 0)));
}

TEST(AppendBackward, KeepsTheUsersLine) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_sum(X=a) -> loss
  )");
  program->global_block().op(0).set_attr("op_callstack",
                                         std::vector<std::string>{"train.py:7 in model"});
  append_backward(program->global_block().var("loss"));
  const Block& block = program->global_block();
  EXPECT_EQ(block.op(block.size() - 1).type(), "toy_square_grad");
  EXPECT_EQ(user_line(block.op(block.size() - 1)), "train.py:7 in model");
}

TEST(AppendBackward, ASecondLossGetsGradientsOfItsOwn) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_sum(X=a) -> loss
    toy_scale(X=a) -> b {factor=3.0}
    toy_sum(X=b) -> loss2
  )");
  EXPECT_THAT(append_backward(program->global_block().var("loss")),
              ElementsAre(ParamGrad{"w", "w@GRAD"}));
  EXPECT_THAT(append_backward(program->global_block().var("loss2")),
              ElementsAre(ParamGrad{"w", "w@GRAD_0"}));
  EXPECT_THAT(run_program(*program, {}, {"w@GRAD", "w@GRAD_0"}, {{"w", tensor({1, 2})}}),
              ElementsAre(near({2, 4}, 1e-6), near({6, 12}, 1e-6)));
}

TEST(AppendBackward, RefusesALossOfManyElements) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_square(X=w) -> loss
  )");
  EXPECT_REFUSED(append_backward(program->global_block().var("loss")),
                 "the loss \"loss\" must have one element, but its shape is [2]. Take its mean or "
                 "sum first");
}

TEST(AppendBackward, RefusesALossInsideASubBlock) {
  Program program;
  Block& inner = program.create_block(0);
  Var& loss = inner.add_var({.name = "loss", .shape = {1}});
  EXPECT_REFUSED(append_backward(loss),
                 "the loss \"loss\" must lie in the global block, but is in block 1");
}

TEST(AppendBackward, GoesThroughAConditionalBlock) {
  const auto program = parse(R"(
    var w f32[1] persistable parameter
    var x f32[1] data stop_gradient
    var c bool[1] data stop_gradient
    var loss f32[1]
    conditional_block(Cond=c, Input=[w, x]) -> Out=loss {sub_block=block 1}
    block 1 in 0 {
      var y f32[1]
      toy_mul(X=w, Y=x) -> y
      toy_mul(X=y, Y=w) -> loss
    }
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    conditional_block_grad(Cond=c, Input=[w, x], Out=loss, Out@GRAD=loss@GRAD) -> Input@GRAD=[w@GRAD, @EMPTY@] {sub_block=block 2}
  )"));
  const Block& inner = program->block(2);
  EXPECT_EQ(inner.parent(), 0);
  EXPECT_EQ(inner.forward_block(), 1);
  EXPECT_EQ(ops_of(inner), text(R"(
    toy_mul_grad(Out@GRAD=loss@GRAD, X=y, Y=w) -> X@GRAD=y@GRAD, Y@GRAD=w@GRAD@RENAME@block1@0
    toy_mul_grad(Out@GRAD=y@GRAD, X=w, Y=x) -> X@GRAD=w@GRAD@RENAME@block1@1
    sum(X=[w@GRAD@RENAME@block1@0, w@GRAD@RENAME@block1@1]) -> w@GRAD
  )"));
  EXPECT_NE(inner.find_var("w@GRAD"), nullptr);  // not the one outside
}

// The second block may not run, and then the gradient belongs to the first.
TEST(AppendBackward, GoesPastASubBlockThatMayNotRun) {
  const auto program = parse(R"(
    var w f32[1] persistable parameter
    var x f32[1] data stop_gradient
    var c bool[1] data stop_gradient
    var loss f32[1]
    conditional_block(Cond=c, Input=w) -> Out=loss {sub_block=block 1}
    conditional_block(Cond=c, Input=x) -> Out=loss {sub_block=block 2}
    block 1 in 0 {
      toy_square(X=w) -> loss
    }
    block 2 in 0 {
      toy_square(X=x) -> loss
    }
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    assign(X=loss@GRAD) -> loss@GRAD@AFTER
    cast(X=c) -> loss@GRAD@AFTER@TAKEN {in_dtype=0, out_dtype=2}
    select_output(Mask=loss@GRAD@AFTER@TAKEN, X=loss@GRAD@AFTER) -> [loss@GRAD, @EMPTY@]
    conditional_block_grad(Cond=c, Input=w, Out=loss, Out@GRAD=loss@GRAD) -> Input@GRAD=w@GRAD {sub_block=block 3}
  )"));
}

TEST(AppendBackward, SavesWhatASubBlockReadBeforeItIsOverwritten) {
  const auto program = parse(R"(
    var w f32[1] persistable parameter
    var c bool[1] data stop_gradient
    var a f32[1]
    var b f32[1]
    var loss f32[1]
    toy_square(X=w) -> a
    conditional_block(Cond=c, Input=a) -> Out=b {sub_block=block 1}
    toy_square(X=w) -> a
    toy_mul(X=a, Y=b) -> loss
    block 1 in 0 {
      toy_square(X=a) -> b
    }
  )");
  backward_of(*program);
  EXPECT_EQ(print(program->global_block().op(2)), "assign(X=a) -> a@SAVED@0");
  EXPECT_EQ(ops_of(program->block(2)),
            "toy_square_grad(Out@GRAD=b@GRAD, X=a@SAVED@0) -> X@GRAD=a@GRAD\n");
}

TEST(AppendBackward, GoesThroughALoop) {
  const auto program = parse(R"(
    var w f32[1] persistable parameter
    var x f32[1] data stop_gradient
    var c bool[1] data stop_gradient
    var s f32[1]
    var loss f32[1]
    toy_square(X=w) -> s
    while(Condition=c, X=[w, x, s]) -> Out=[s, c] {sub_block=block 1}
    toy_sum(X=s) -> loss
    block 1 in 0 {
      var y f32[1]
      toy_mul(X=s, Y=w) -> y
      toy_mul(X=y, Y=x) -> s
    }
  )");
  EXPECT_EQ(backward_of(*program), text(R"(
    fill_constant() -> loss@GRAD {dtype=5, shape=[1L], value=1.0}
    toy_sum_grad(Out@GRAD=loss@GRAD, X=s) -> X@GRAD=s@GRAD
    while_grad(Out=[s, c], Out@GRAD=s@GRAD, X=[w, x, s]) -> X@GRAD=[w@GRAD@RENAME@block0@0, @EMPTY@, s@GRAD] {is_test=false, original_output_grad=["s@GRAD"], sub_block=block 2}
    toy_square_grad(Out@GRAD=s@GRAD, X=w) -> X@GRAD=w@GRAD@RENAME@block0@1
    sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> w@GRAD
  )"));
  EXPECT_EQ(program->block(2).forward_block(), 1);
  EXPECT_EQ(ops_of(program->block(2)), text(R"(
    assign(X=s@GRAD) -> s@GRAD@ROUND
    toy_mul_grad(Out@GRAD=s@GRAD@ROUND, X=y, Y=x) -> X@GRAD=y@GRAD
    toy_mul_grad(Out@GRAD=y@GRAD, X=s@SAVED@block1@0, Y=w) -> X@GRAD=s@GRAD@ROUND, Y@GRAD=w@GRAD
    assign(X=s@GRAD@ROUND) -> s@GRAD
  )"));
}

TEST(AppendBackward, RefusesGradientsOfGradients) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_square(X=w) -> a
    toy_sum(X=a) -> first
  )");
  append_backward(program->global_block().var("first"));
  Block& block = program->global_block();
  append_op(block, "toy_sum", {{"X", {"w@GRAD"}}}, {{"Out", {"loss"}}});
  EXPECT_REFUSED(append_backward(block.var("loss")),
                 "toy_square_grad is itself part of a gradient, and second-order gradients are not "
                 "implemented");
}

TEST(AppendBackward, LeavesTheProgramAsItWasWhereItThrows) {
  const auto program = build(R"(
    var w f32[2] persistable parameter
    toy_scale(X=w) -> a {factor=2.0}
    toy_mul(X=a, Y=w) -> b
    toy_scale(X=b) -> a {factor=2.0}
    toy_sum(X=a) -> loss
  )");
  Block& block = program->global_block();
  block.op(1).set_attr("op_callstack", std::vector<std::string>{"train.py:7 in model"});
  block.var("w").shape = {3};
  const std::string before = print(*program);
  EXPECT_EQ(message_of([&] { append_backward(block.var("loss")); }) + "\n", text(R"(
    Y and Out@GRAD must have one shape, but Y is [3] and Out@GRAD is [2]
      op    toy_mul_grad(Out@GRAD=b@GRAD, X=a@SAVED@0, Y=w) -> X@GRAD=a@GRAD, Y@GRAD=w@GRAD@RENAME@block0@0 {op_role=1}
      from  train.py:7 in model
  )"));
  EXPECT_EQ(print(*program), before);
}

TEST(Gradients, OfAnIntermediateVariable) {
  const auto program = build(R"(
    var x f32[2] data
    toy_square(X=x) -> a
    toy_square(X=a) -> b
  )");
  Block& block = program->global_block();
  EXPECT_THAT(gradients({&block.var("b")}, {&block.var("a"), &block.var("b")}),
              ElementsAre("a@GRAD", "b@GRAD"));
  EXPECT_EQ(block.find_var("x@GRAD"), nullptr);
  EXPECT_THAT(run_program(*program, {{"x", tensor({1, 2})}}, {"a@GRAD", "b@GRAD"}),
              ElementsAre(near({2, 8}, 1e-6), near({1, 1}, 0)));
}

TEST(Gradients, StartFromGivenOnesAndAddUpOverTargets) {
  const auto program = build(R"(
    var x f32[2] data
    var seed f32[2] data stop_gradient
    toy_square(X=x) -> a
    toy_scale(X=a) -> b {factor=10.0}
  )");
  Block& block = program->global_block();
  const auto names = gradients({&block.var("a"), &block.var("b")}, {&block.var("x")},
                               {&block.var("seed"), nullptr});
  EXPECT_THAT(names, ElementsAre("x@GRAD"));
  // 2 x (seed + 10)
  EXPECT_THAT(run_program(*program, {{"x", tensor({1, 2})}, {"seed", tensor({1, 5})}}, names),
              ElementsAre(near({22, 60}, 1e-5)));
}

TEST(Gradients, AreEmptyWhereAnInputLeadsNowhere) {
  const auto program = build(R"(
    var x f32[2] data
    var y f32[2] data
    var z f32[2] data stop_gradient
    toy_square(X=x) -> a
    toy_mul(X=a, Y=z) -> b
  )");
  Block& block = program->global_block();
  EXPECT_THAT(gradients({&block.var("b")}, {&block.var("y"), &block.var("z"), &block.var("x")}),
              ElementsAre("", "", "x@GRAD"));
}

TEST(Gradients, OfATargetOfUnknownExtent) {
  const auto program = build(R"(
    var x f32[-1] data
    toy_square(X=x) -> a
  )");
  Block& block = program->global_block();
  const auto names = gradients({&block.var("a")}, {&block.var("x")});
  EXPECT_THAT(run_program(*program, {{"x", tensor({1, 2, 3})}}, names),
              ElementsAre(near({2, 4, 6}, 1e-6)));
}

}  // namespace
}  // namespace flotilla
