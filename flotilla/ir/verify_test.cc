#include "flotilla/ir/verify.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

constexpr std::string_view kAccepted = "(not refused)";

using enum Stage;

std::string check(std::string_view text, Stage stage = kParallel) {
  return message_of([&] { verify(*parse(text), stage); });
}

constexpr std::string_view kForwardText = R"(
  var x f32[-1, 4] data
  var w f32[4, 1] persistable parameter
  var y f32[-1, 1]
  var y@GRAD f32[-1, 1]
  var w@GRAD f32[4, 1]
  var lr f32[1] persistable
  mul(X=x, Y=w) -> y
)";

TEST(Verify, AcceptsAForwardProgramAtEveryStage) {
  for (const Stage stage : {kForward, kBackward, kTraining, kParallel}) {
    EXPECT_EQ(check(kForwardText, stage), kAccepted);
  }
}

TEST(Verify, TheQueueOfALoaderNeedsNoVariable) {
  EXPECT_EQ(check("var r f32[1] persistable\ncreate_py_reader(blocking_queue=queue) -> r\n"),
            kAccepted);
}

TEST(Verify, RolesFitTheStage) {
  std::string program(kForwardText);
  program += "fill_constant() -> y@GRAD {op_role=257}\n";
  EXPECT_EQ(check(program, kForward),
            "fill_constant has the role of backward, but the program is still forward only\n"
            "  op    #1 fill_constant() -> y@GRAD {op_role=257}");
  EXPECT_EQ(check(program, kBackward), kAccepted);
  program += "mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> Y@GRAD=w@GRAD {op_role=1}\n";
  program += "sgd(Param=w, Grad=w@GRAD, LearningRate=lr) -> ParamOut=w {op_role=2}\n";
  EXPECT_EQ(check(program, kBackward),
            "sgd has the role of an optimizer, but the program has none yet\n"
            "  op    #3 sgd(Grad=w@GRAD, LearningRate=lr, Param=w) -> ParamOut=w {op_role=2}");
  EXPECT_EQ(check(program, kTraining), kAccepted);
  for (const std::string type : {"c_allreduce_sum", "send", "listen_and_serv"}) {
    const std::string parallel = program + type + "(X=w@GRAD) -> w@GRAD\n";
    EXPECT_EQ(check(parallel, kTraining),
              fmt::format("{} communicates with other processes, but the program is still that of "
                          "one process\n  op    #4 {}(X=w@GRAD) -> w@GRAD",
                          type, type));
    EXPECT_EQ(check(parallel, kParallel), kAccepted);
  }
  // A schedule may be built before there is an optimizer.
  EXPECT_EQ(check("var lr f32[1] persistable\nincrement(X=lr) -> lr {op_role=16}", kForward),
            kAccepted);
}

TEST(Verify, EveryVariableExists) {
  EXPECT_EQ(check("var hidden f32[1] data\nvar y f32[1]\nrelu(X=hiden) -> y"),
            "the program has no variable \"hiden\". Did you mean \"hidden\"?\n"
            "  op    #0 relu(X=hiden) -> y");
  EXPECT_EQ(check("relu() -> y"), "the program has no variable \"y\".\n  op    #0 relu() -> y");
  EXPECT_EQ(check("var x f32[1] data\nmul_grad(X=x) -> X@GRAD=@EMPTY@ {op_role=1}"), kAccepted);
}

TEST(Verify, ErrorsNameTheUsersLine) {
  EXPECT_EQ(check("relu(X=x) {op_callstack=[\"framework.py:1\", \"train.py:3 in net\"]}"),
            "the program has no variable \"x\".\n"
            "  op    #0 relu(X=x)\n"
            "  from  train.py:3 in net");
}

TEST(Verify, VariablesAreWrittenBeforeTheyAreRead) {
  EXPECT_EQ(check("var x f32[1]\nvar y f32[1]\nrelu(X=x) -> y"),
            "variable \"x\" is read before anything writes it\n  op    #0 relu(X=x) -> y");
  EXPECT_EQ(check("var x f32[1]\nvar y f32[1]\nrelu(X=x) -> y\nfill() -> x"),
            "variable \"x\" is read before anything writes it\n  op    #0 relu(X=x) -> y");
  EXPECT_EQ(check("var x f32[1]\nvar y f32[1]\nfill() -> x\nrelu(X=x) -> y"), kAccepted);
  EXPECT_EQ(check("var x f32[1] data\nvar y f32[1]\nrelu(X=x) -> y"), kAccepted);
  EXPECT_EQ(check("var x f32[1] persistable\nvar y f32[1]\nrelu(X=x) -> y"), kAccepted);
  EXPECT_EQ(check("var feed feed\nvar x f32[1]\nfeed(X=feed) -> x"), kAccepted);
  EXPECT_EQ(check("var a tensor_array f32[1]\nvar n i64[1]\nlod_array_length(X=a) -> n"),
            kAccepted);
}

// Fusing lays gradients out before they are computed.
TEST(Verify, CoalescingReadsNoValues) {
  const std::string program = "var g f32[2]\nvar all f32[2]\n";
  EXPECT_EQ(
      check(program + "coalesce_tensor(Input=g) -> Output=g, FusedOutput=all {copy_data=false}"),
      kAccepted);
  EXPECT_EQ(
      check(program + "coalesce_tensor(Input=g) -> Output=g, FusedOutput=all {copy_data=true}"),
      "variable \"g\" is read before anything writes it\n"
      "  op    #0 coalesce_tensor(Input=g) -> FusedOutput=all, Output=g {copy_data=true}");
}

TEST(Verify, LooksIntoBlocksWhereTheyRun) {
  const std::string loop = R"(
    var i i64[1]
    var late f32[1]
    {}
    while(X=[i, late]) -> i {{sub_block=block 1}}
    {}
    block 1 in 0 {{
      var t i64[1]
      increment(X=i) -> t
      assign(X=t) -> i
      print(In=late)
    }}
  )";
  const auto check_loop = [&](std::string_view before, std::string_view after) {
    return check(fmt::format(fmt::runtime(loop), before, after));
  };
  EXPECT_EQ(check_loop("fill() -> [i, late]", ""), kAccepted);
  EXPECT_EQ(check_loop("fill() -> i", "fill() -> late"),
            "variable \"late\" is read before anything writes it\n"
            "  op    #2 print(In=late)\n"
            "  block 1");
  EXPECT_EQ(
      check("var x f32[1] data\nif(X=x) {b=block 1}\nblock 1 in 0 {\nrelu(X=x) -> unknown\n}"),
      "the program has no variable \"unknown\".\n  op    #0 relu(X=x) -> unknown\n  block 1");
}

// What a block writes to a variable outside is there afterwards.
TEST(Verify, WritesOfABlockCountOutside) {
  EXPECT_EQ(check("var c bool[1] data\nvar x f32[1]\nvar y f32[1]\n"
                  "conditional_block(Cond=c) {sub_block=block 1}\nrelu(X=x) -> y\n"
                  "block 1 in 0 {\nfill() -> x\n}"),
            kAccepted);
}

// A block of gradients names variables of the block it differentiates, and gets its first values
// from the op that runs it.
TEST(Verify, GradientBlocksSeeTheirForwardBlock) {
  EXPECT_EQ(check("var c bool[1] data\nwhile(Condition=c) {sub_block=block 1}\n"
                  "while_grad() {sub_block=block 2, op_role=1}\n"
                  "block 1 in 0 {\nvar t f32[1]\nfill() -> t\n}\n"
                  "block 2 in 0 forward 1 {\nvar t@GRAD f32[1]\nvar g f32[1]\n"
                  "grad(X=[t, t@GRAD]) -> g\n}"),
            kAccepted);
}

TEST(Verify, BlocksThatAreNotThereAreRefused) {
  Program program;
  program.global_block().push_back(Op("while", {}, {}, {{"sub_block", BlockRef{3}}}));
  EXPECT_EQ(
      message_of([&] { verify(program, kForward); }),
      "block 0, op #0 (while): attribute sub_block names block 3, but the program has 1 blocks");
}

}  // namespace
}  // namespace flotilla
