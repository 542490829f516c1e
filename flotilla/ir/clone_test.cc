#include <gmock/gmock.h>

#include "flotilla/ir/proto.h"
#include "flotilla/ir/text.h"
#include "flotilla/ir/verify.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/random_program.h"

namespace flotilla {
namespace {

constexpr std::string_view kAccepted = "(not refused)";

constexpr std::string_view kTraining = R"(
  random_seed 7
  var x f32[-1, 4] data
  var label f32[-1, 1] data
  var w f32[4, 1] persistable parameter
  var h f32[-1, 1]
  var mask u8[-1, 1]
  var loss f32[1]
  var unused f32[1]
  var loss@GRAD f32[1]
  var h@GRAD f32[-1, 1]
  var w@GRAD f32[4, 1]
  var moment f32[4, 1] persistable
  var lr f32[1] persistable
  mul(X=x, Y=w) -> h
  dropout(X=h) -> Out=h, Mask=mask {is_test=false, op_role=0}
  square_loss(X=h, Y=label) -> loss {op_role=256}
  fill_constant() -> loss@GRAD {op_role=257}
  square_loss_grad(Out@GRAD=loss@GRAD, X=h) -> X@GRAD=h@GRAD {op_role=1}
  mul_grad(X=x, Out@GRAD=h@GRAD) -> Y@GRAD=w@GRAD {op_role=1}
  increment(X=lr) -> lr {op_role=16}
  momentum(Param=w, Grad=w@GRAD, Velocity=moment, LearningRate=lr) -> ParamOut=w, VelocityOut=moment {op_role=2}
)";

TEST(Clone, CopiesEverything) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto program = RandomProgram(seed).make();
    const auto copy = program->clone();
    ASSERT_EQ(print(*copy), print(*program)) << seed;
    EXPECT_NE(copy->id(), program->id());
  }
}

TEST(Clone, IsIndependentOfTheOriginal) {
  const auto program = parse(kTraining);
  const std::string before = print(*program);
  const auto copy = program->clone();
  copy->global_block().op(0).set_type("other");
  copy->global_block().var("w").persistable = false;
  copy->global_block().add_var({.name = "new"});
  EXPECT_EQ(print(*program), before);
  EXPECT_EQ(copy->global_block().op(0).block(), &copy->global_block());
  EXPECT_EQ(copy->global_block().var("w").block, &copy->global_block());
}

TEST(Clone, ForTestDropsTraining) {
  const auto test = parse(kTraining)->clone(true);
  EXPECT_EQ(print(*test),
            "random_seed 7\n"
            "var x f32[-1, 4] data\n"
            "var label f32[-1, 1] data\n"
            "var w f32[4, 1] persistable parameter\n"
            "var h f32[-1, 1]\n"
            "var mask u8[-1, 1]\n"
            "var loss f32[1]\n"
            "var unused f32[1]\n"
            "mul(X=x, Y=w) -> h\n"
            "dropout(X=h) -> Mask=mask, Out=h {is_test=true, op_role=0}\n"
            "square_loss(X=h, Y=label) -> loss {op_role=256}\n");
  EXPECT_EQ(message_of([&] { verify(*test, Stage::kForward); }), kAccepted);
}

// Block 1 belongs to the backward op and goes with it; block 2 becomes block 1.
TEST(Clone, ForTestNumbersBlocksAnew) {
  const auto program = parse(R"(
    var x f32[1] data
    var y f32[1]
    while_grad() {op_role=1, sub_block=block 1}
    while(X=x) -> y {is_test=false, sub_block=block 2}
    branch() {blocks=[block 3, block 2]}
    block 1 in 0 forward 2 {
      relu_grad() {op_role=1}
    }
    block 2 in 0 {
      var t f32[1]
      dropout(X=x) -> t {is_test=false}
      inner_grad(X=t) {op_role=1, sub_block=block 1}
    }
    block 3 in 2 forward 1 {
    }
  )");
  EXPECT_EQ(print(*program->clone(true)),
            "var x f32[1] data\n"
            "var y f32[1]\n"
            "while(X=x) -> y {is_test=true, sub_block=block 1}\n"
            "branch() {blocks=[block 2, block 1]}\n"
            "block 1 in 0 {\n"
            "  var t f32[1]\n"
            "  dropout(X=x) -> t {is_test=true}\n"
            "}\n"
            "block 2 in 1 {\n"
            "}\n");
}

TEST(Clone, ForTestOfAnyProgramIsSound) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto test = RandomProgram(seed).make()->clone(true);
    ASSERT_EQ(print(*parse(print(*test))), print(*test)) << seed;
    ASSERT_EQ(serialize(*deserialize(serialize(*test))), serialize(*test)) << seed;
  }
}

TEST(Prune, KeepsWhatTheTargetsNeed) {
  EXPECT_EQ(print(*parse(kTraining)->prune({"x"}, {"h"})),
            "random_seed 7\n"
            "var x f32[-1, 4] data\n"
            "var w f32[4, 1] persistable parameter\n"
            "var h f32[-1, 1]\n"
            "var mask u8[-1, 1]\n"
            "mul(X=x, Y=w) -> h\n"
            "dropout(X=h) -> Mask=mask, Out=h {is_test=false, op_role=0}\n");
}

// The optimizer writes w, but after the last read that the loss needs.
TEST(Prune, ToTheLossOfATrainingProgramDropsTheOptimizer) {
  const auto pruned = parse(kTraining)->prune({}, {"loss"});
  EXPECT_EQ(pruned->global_block().size(), 3u);
  EXPECT_EQ(pruned->global_block().count("momentum"), 0);
  EXPECT_EQ(pruned->global_block().find_var("moment"), nullptr);
}

// All but the loss itself: its gradient is a constant.
TEST(Prune, ToAParameterKeepsTheStep) {
  const auto pruned = parse(kTraining)->prune({}, {"w"});
  EXPECT_EQ(pruned->global_block().size(), 7u);
  EXPECT_EQ(pruned->global_block().count("square_loss"), 0);
}

TEST(Prune, FedVariablesAreSources) {
  const auto pruned = parse(kTraining)->prune({"h", "label"}, {"loss"});
  EXPECT_EQ(print(*pruned),
            "random_seed 7\n"
            "var label f32[-1, 1] data\n"
            "var h f32[-1, 1]\n"
            "var loss f32[1]\n"
            "square_loss(X=h, Y=label) -> loss {op_role=256}\n");
  // A feed that nothing reads stays, so that it can be fed all the same.
  EXPECT_NE(parse(kTraining)->prune({"label", "x"}, {"h"})->global_block().find_var("label"),
            nullptr);
}

TEST(Prune, KeepsWhatChangesAFeed) {
  const auto program = parse(R"(
    var i i64[1] data
    var more bool[1]
    less(X=i) -> more
    while(Condition=more, X=i) -> Out=i {sub_block=block 1}
    block 1 in 0 {
      increment(X=i) -> i
      less(X=i) -> more
    }
  )");
  EXPECT_EQ(print(*program->prune({"i"}, {"i"})), print(*program));
}

TEST(Prune, KeepsBlocksWholeAndWhatTheyRead) {
  const auto program = parse(R"(
    var i i64[1]
    var step f32[1]
    var sum f32[1]
    var other f32[1]
    fill() -> i
    fill() -> step
    fill() -> sum
    fill() -> other
    never() {sub_block=block 1}
    while(X=i) {sub_block=block 2}
    block 1 in 0 {
    }
    block 2 in 0 {
      var local f32[1]
      add(X=sum, Y=step) -> sum
      print(In=local)
    }
  )");
  EXPECT_EQ(print(*program->prune({}, {"sum"})),
            "var i i64[1]\n"
            "var step f32[1]\n"
            "var sum f32[1]\n"
            "fill() -> i\n"
            "fill() -> step\n"
            "fill() -> sum\n"
            "while(X=i) {sub_block=block 1}\n"
            "block 1 in 0 {\n"
            "  var local f32[1]\n"
            "  add(X=sum, Y=step) -> sum\n"
            "  print(In=local)\n"
            "}\n");
}

TEST(Prune, RefusesUnknownNames) {
  EXPECT_EQ(message_of([] { parse(kTraining)->prune({}, {"los"}); }),
            "the program has no variable \"los\". Did you mean \"loss\"?");
  EXPECT_EQ(message_of([] { parse(kTraining)->prune({"labels"}, {"loss"}); }),
            "the program has no variable \"labels\". Did you mean \"label\"?");
}

}  // namespace
}  // namespace flotilla
