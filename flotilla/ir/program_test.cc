#include "flotilla/ir/program.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/ir/unique_name.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Var*>& vars) {
  std::vector<std::string> names;
  for (const Var* var : vars) names.push_back(var->name);
  return names;
}

std::vector<std::string> types_of(const Block& block) {
  std::vector<std::string> types;
  for (const auto& op : block.ops()) types.push_back(op->type());
  return types;
}

TEST(Block, KeepsTheOrderAndTheAddressesOfVariables) {
  Program program;
  Block& block = program.global_block();
  Var& x = block.add_var({.name = "x", .shape = {2}});
  for (int i = 0; i < 100; ++i) block.add_var({.name = fmt::format("v{}", i)});
  Var& again = block.add_var({.name = "x", .shape = {3}});
  EXPECT_EQ(&again, &x);
  EXPECT_EQ(x.shape, Shape({3}));
  EXPECT_EQ(block.vars().size(), 101u);
  EXPECT_EQ(block.vars().front()->name, "x");
  EXPECT_EQ(x.block, &block);
}

TEST(Block, FindsVariablesOfTheBlocksAround) {
  const auto program = parse(
      "var x f32[1]\nvar shadowed f32[1]\n"
      "block 1 in 0 {\nvar t f32[1]\nvar shadowed f32[2]\n}\n"
      "block 2 in 1 {\n}\nblock 3 in 0 forward 1 {\n}");
  const Block& inner = program->block(2);
  EXPECT_EQ(&inner.var("x"), program->global_block().find_var("x"));
  EXPECT_EQ(&inner.var("t"), program->block(1).find_var("t"));
  EXPECT_EQ(inner.var("shadowed").shape, Shape({2}));
  EXPECT_EQ(inner.find_var("x"), nullptr);
  EXPECT_EQ(program->global_block().find_var_recursive("t"), nullptr);
  EXPECT_EQ(&program->block(3).var("t"), program->block(1).find_var("t"));
  EXPECT_EQ(message_of([&] { inner.var("shadowd"); }),
            "the program has no variable \"shadowd\". Did you mean \"shadowed\"?");
}

TEST(Block, RenamesAVariableWhereverItIsMeant) {
  const auto program = parse(
      "var x f32[1]\nrelu(X=x) -> x\n"
      "block 1 in 0 {\nrelu(X=x) -> y\n}\n"
      "block 2 in 0 {\nvar x f32[2]\nrelu(X=x) -> y\n}");
  program->global_block().rename_var("x", "z");
  EXPECT_EQ(print(*program),
            "var z f32[1]\nrelu(X=z) -> z\n"
            "block 1 in 0 {\n  relu(X=z) -> y\n}\n"
            "block 2 in 0 {\n  var x f32[2]\n  relu(X=x) -> y\n}\n");
  EXPECT_EQ(program->global_block().find_var("x"), nullptr);
  EXPECT_NE(program->global_block().find_var("z"), nullptr);
  EXPECT_THAT(message_of([&] { program->global_block().rename_var("gone", "a"); }),
              HasSubstr("has no variable \"gone\""));
  EXPECT_THAT(message_of([&] { program->block(2).rename_var("x", "x"); }),
              HasSubstr("already exists"));
}

TEST(Block, RemovesVariables) {
  Program program;
  Block& block = program.global_block();
  block.add_var({.name = "x"});
  Var& y = block.add_var({.name = "y"});
  block.remove_var("x");
  block.remove_var("never there");
  EXPECT_EQ(block.find_var("x"), nullptr);
  EXPECT_EQ(block.find_var("y"), &y);
  block.remove_var(y.name);  // a view of the name that goes
  EXPECT_TRUE(block.vars().empty());
}

TEST(Block, InsertsAndErasesOps) {
  Program program;
  Block& block = program.global_block();
  for (const char* type : {"a", "b", "c", "d"}) block.push_back(Op(type, {}, {}));
  block.insert_before(1, {Op("x", {}, {}), Op("y", {}, {})});
  EXPECT_THAT(types_of(block), ElementsAre("a", "x", "y", "b", "c", "d"));
  block.insert_before(6, {Op("z", {}, {})});
  block.erase({0, 2, 5});
  EXPECT_THAT(types_of(block), ElementsAre("x", "b", "c", "z"));
  block.erase(0);
  EXPECT_THAT(types_of(block), ElementsAre("b", "c", "z"));
  EXPECT_EQ(block.count("c"), 1);
  EXPECT_EQ(block.op(0).block(), &block);
}

TEST(Block, FindsTheFirstWriter) {
  const auto program = parse("a() -> x\nb() -> y\nc() -> [x, y]");
  const std::vector<std::string> y = {"y"}, none = {"z"};
  EXPECT_EQ(program->global_block().first_writer_of(y), 1u);
  EXPECT_EQ(program->global_block().first_writer_of(none), 3u);
}

TEST(Block, TemporariesAreNew) {
  Program program;
  program.global_block().add_var({.name = "tmp_0"});
  EXPECT_EQ(program.global_block().add_temporary("tmp", f64, {3}).name, "tmp_1");
  EXPECT_EQ(program.global_block().add_temporary("tmp", f64, {3}).name, "tmp_2");
  EXPECT_EQ(program.global_block().add_temporary("fused", f64, {3}).name, "fused_0");
}

TEST(Op, GivesVariablesBySlot) {
  const Op op("adam", {{"Param", {"w"}}, {"Grad", {"g"}}, {"None", {}}}, {{"ParamOut", {"w"}}});
  EXPECT_EQ(op.input("Param"), "w");
  EXPECT_TRUE(op.has_input("Grad"));
  EXPECT_FALSE(op.has_input("None"));
  EXPECT_FALSE(op.has_input("Absent"));
  EXPECT_THAT(names_in(op.inputs()), ElementsAre("g", "w"));
  EXPECT_TRUE(op.reads("g"));
  EXPECT_FALSE(op.writes("g"));
  EXPECT_EQ(message_of([&] { op.input("None"); }),
            "slot None of adam must hold one variable, but holds 0");
}

TEST(Op, RenamesInEverySlot) {
  Op op("scale", {{"X", {"x", "y", "x"}}}, {{"Out", {"x"}}});
  op.rename("x", "z");
  EXPECT_EQ(print(op), "scale(X=[z, y, z]) -> z");
}

TEST(Program, VersionGrowsWithEveryChange) {
  Program program;
  Block& block = program.global_block();
  uint64_t last = program.version();
  const auto changed = [&] { return std::exchange(last, program.version()) < program.version(); };
  block.add_var({.name = "x"});
  EXPECT_TRUE(changed());
  Op& op = block.push_back(Op("relu", {{"X", {"x"}}}, {}));
  EXPECT_TRUE(changed());
  op.set_attr("a", true);
  EXPECT_TRUE(changed());
  op.set_output("Out", {"x"});
  EXPECT_TRUE(changed());
  block.rename_var("x", "y");
  EXPECT_TRUE(changed());
  block.erase(0);
  EXPECT_TRUE(changed());
  block.remove_var("y");
  EXPECT_TRUE(changed());
  program.set_random_seed(1);
  EXPECT_TRUE(changed());
  program.create_block(0);
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
  EXPECT_NE(Program().id(), Program().id());
}

TEST(Program, EntersAndLeavesBlocks) {
  Program program;
  EXPECT_EQ(program.enter_block().index(), 1);
  EXPECT_EQ(program.enter_block().index(), 2);
  EXPECT_EQ(program.current_block().parent(), 1);
  program.leave_block();
  program.leave_block();
  EXPECT_EQ(program.current_block().index(), 0);
  EXPECT_EQ(message_of([&] { program.leave_block(); }), "the global block cannot be left");
  EXPECT_EQ(message_of([&] { program.block(3); }),
            "the program has 3 blocks, but block 3 was named");
  EXPECT_EQ(message_of([&] { program.create_block(-1); }),
            "a block must lie in one of the program's 3 blocks, but -1 was named");
}

TEST(Program, ListsParameters) {
  const auto program = parse(
      "var w f32[1] persistable parameter\nvar x f32[1]\n"
      "block 1 in 0 {\nvar b f32[1] parameter\n}");
  EXPECT_THAT(names_of(program->parameters()), ElementsAre("w", "b"));
}

TEST(UniqueNames, CountEachKey) {
  UniqueNames names;
  EXPECT_EQ(names.generate("fc"), "fc_0");
  EXPECT_EQ(names.generate("fc"), "fc_1");
  EXPECT_EQ(names.generate("conv2d"), "conv2d_0");
  EXPECT_EQ(names.generate("fc_0.w"), "fc_0.w_0");
}

TEST(UniqueNames, SwitchAndComeBack) {
  UniqueNames names;
  names.generate("fc");
  UniqueNames before = names.switch_to(UniqueNames());
  EXPECT_EQ(names.generate("fc"), "fc_0");
  names.switch_to(UniqueNames("test_"));
  EXPECT_EQ(names.generate("fc"), "test_fc_0");
  names.switch_to(std::move(before));
  EXPECT_EQ(names.generate("fc"), "fc_1");
}

}  // namespace
}  // namespace flotilla
