#include "flotilla/op/build.h"

#include "flotilla/ir/text.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/programs.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

Var& add_input(Block& block, const std::string& name, Shape shape, DType dtype = f32) {
  return block.add_var({.name = name, .dtype = dtype, .shape = std::move(shape)});
}

TEST(AppendOp, MakesAndDescribesItsOutputs) {
  Program program;
  Block& block = program.global_block();
  add_input(block, "x", {-1, 3}, f64);
  const Op& op = append_op(block, "toy_scale", {{"X", {"x"}}}, {{"Out", {"y"}}}, {{"factor", 2}});
  EXPECT_EQ(block.var("y").shape, Shape({-1, 3}));
  EXPECT_EQ(block.var("y").dtype, f64);
  EXPECT_EQ(op.role(), kForwardRole);
}

TEST(AppendOp, ConvertsAttributesToTheKindOfTheDefinition) {
  Program program;
  add_input(program.global_block(), "x", {3});
  const Op& op = append_op(program.global_block(), "toy_scale", {{"X", {"x"}}}, {{"Out", {"y"}}},
                           {{"factor", int64_t{2}}});
  EXPECT_EQ(*op.find_attr("factor"), Attr(2.0f));
}

TEST(AppendOp, RefusesAnUnknownOp) {
  Program program;
  EXPECT_REFUSED(append_op(program.global_block(), "toy_scal", {}, {}),
                 "the op \"toy_scal\" is not defined. Did you mean \"toy_scale\"?");
}

TEST(AppendOp, RefusesUnknownSlotsAndAttributes) {
  Program program;
  Block& block = program.global_block();
  add_input(block, "x", {3});
  EXPECT_REFUSED(append_op(block, "toy_scale", {{"X", {"x"}}}, {{"Ouy", {"y"}}}),
                 "toy_scale has no output \"Ouy\". Did you mean \"Out\"?");
  EXPECT_REFUSED(append_op(block, "toy_scale", {{"X", {"x"}}}, {{"Out", {"y"}}}, {{"facto", 2.0f}}),
                 "toy_scale has no attribute \"facto\". Did you mean \"factor\"?");
  EXPECT_REFUSED(append_op(block, "toy_scale", {}, {{"Out", {"y"}}}),
                 "toy_scale needs the input \"X\" (any tensor)");
  EXPECT_REFUSED(append_op(block, "toy_scale", {{"X", {"x", "x"}}}, {{"Out", {"y"}}}),
                 "input X of toy_scale holds one variable, but 2 were given");
  EXPECT_EQ(block.size(), 0u);
  EXPECT_EQ(block.find_var("y"), nullptr);
}

TEST(AppendOp, RefusesAnUnknownInput) {
  Program program;
  add_input(program.global_block(), "image", {3});
  EXPECT_REFUSED(
      append_op(program.global_block(), "toy_scale", {{"X", {"imag"}}}, {{"Out", {"y"}}}),
      "the program has no variable \"imag\". Did you mean \"image\"?");
}

TEST(AppendOp, AcceptsAnEmptySlotAsRealProgramsHaveIt) {
  Program program;
  Block& block = program.global_block();
  add_input(block, "x", {3});
  add_input(block, "d", {3});
  append_op(block, "toy_mul_grad", {{"X", {"x"}}, {"Y", {"x"}}, {"Out@GRAD", {"d"}}},
            {{"X@GRAD", {}}, {"Y@GRAD", {"g"}}});
  EXPECT_EQ(block.var("g").shape, Shape({3}));
}

TEST(AppendOp, AnErrorNamesTheOpAndTheUsersLine) {
  Program program;
  Block& block = program.global_block();
  add_input(block, "x", {3});
  add_input(block, "y", {4});
  program.build().callstack = {"lib.py:3 in fc", "train.py:12 in net"};
  EXPECT_EQ(message_of([&] {
              append_op(block, "toy_mul", {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"z"}}});
            }) + "\n",
            text(R"(
              X and Y must have one shape, but X is [3] and Y is [4]
                op    toy_mul(X=x, Y=y) -> z
                from  train.py:12 in net
            )"));
}

TEST(AppendOp, MarksWithTheStateOfTheBuilder) {
  Program program;
  Block& block = program.global_block();
  add_input(block, "x", {3});
  program.build().name_scope = "/net/";
  {
    const RoleGuard role(program, kOptimizeRole, {"w", "w@GRAD"});
    const Op& op = append_op(block, "toy_sign", {{"X", {"x"}}}, {{"Out", {"y"}}});
    EXPECT_EQ(op.role(), kOptimizeRole);
    EXPECT_THAT(op.attr<std::vector<std::string>>("op_role_var"), ElementsAre("w", "w@GRAD"));
    EXPECT_EQ(op.attr<std::string>("op_namescope"), "/net/");
  }
  const Op& after = append_op(block, "toy_sign", {{"X", {"x"}}}, {{"Out", {"z"}}});
  EXPECT_EQ(after.role(), kForwardRole);
  EXPECT_FALSE(after.attrs().contains("op_role_var"));
}

TEST(InsertOp, PutsItInFront) {
  const auto program = build(R"(
    var x f32[2] data
    toy_sign(X=x) -> y
  )");
  insert_op(program->global_block(), 0, "toy_square", {{"X", {"x"}}}, {{"Out", {"x"}}});
  EXPECT_EQ(ops_of(*program), text(R"(
    toy_square(X=x) -> x
    toy_sign(X=x) -> y
  )"));
}

}  // namespace
}  // namespace flotilla
