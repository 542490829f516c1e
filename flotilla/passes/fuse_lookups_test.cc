#include "flotilla/passes/fuse_lookups.h"

#include "flotilla/autodiff/backward.h"
#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr const char* kVars = R"(
  var a i64[4, 1] data
  var b i64[4, 1] data
  var c i64[4, 3] data
  var d i64[4, 1] data
  var dense f32[4, 2] data
  var w f32[9, 3] persistable parameter
  var v f32[5, 2] persistable parameter
  var lr f32[1] persistable stop_gradient
)";

// Two slots of one table beside a dense feature.
constexpr const char* kSlots = R"(
  lookup_table_v2(Ids=a, W=w) -> p {is_sparse=true}
  reshape2(X=p) -> Out=q, XShape=qs {shape=[-1, 3]}
  lookup_table_v2(Ids=b, W=w) -> r {is_sparse=true}
  reshape2(X=r) -> Out=s, XShape=ss {shape=[-1, 3]}
  concat(X=[q, s, dense]) -> out {axis=1}
)";

constexpr const char* kLoss = R"(
  square(X=out) -> sq
  reduce_sum(X=sq) -> loss {reduce_all=true}
)";

std::shared_ptr<Program> forward(std::string_view slots) {
  return build(fmt::format("{}{}{}", kVars, slots, kLoss));
}

void append_sgd(Block& block, const std::string& table) {
  block.push_back(Op("sgd",
                     {{"Param", {table}}, {"Grad", {grad_name(table)}}, {"LearningRate", {"lr"}}},
                     {{"ParamOut", {table}}}, {{"op_role", int32_t{2}}}));
}

// With a step of SGD for each table whose gradient there is.
std::shared_ptr<Program> trained(std::string_view slots) {
  auto program = forward(slots);
  Block& block = program->global_block();
  append_backward(block.var("loss"));
  for (const char* table : {"w", "v"}) {
    if (block.find_var(grad_name(table)) != nullptr) append_sgd(block, table);
  }
  return program;
}

std::vector<std::string> types_of(const Program& program) {
  std::vector<std::string> types;
  for (const auto& op : program.global_block().ops()) types.push_back(op->type());
  return types;
}

// Rows repeat within a slot and between slots.
const std::vector<Feed> kFeeds = {{"a", ints({1, 5, 1, 8}, {4, 1})},
                                  {"b", ints({5, 1, 5, 5}, {4, 1})},
                                  {"c", ints({0, 1, 1, 4, 4, 4, 2, 1, 0, 3, 3, 1}, {4, 3})},
                                  {"d", ints({4, 4, 0, 1}, {4, 1})},
                                  {"dense", uniform({4, 2}, -1, 1, 1)}};
const std::vector<Feed> kPersistables = {
    {"w", uniform({9, 3}, -1, 1, 2)}, {"v", uniform({5, 2}, -1, 1, 3)}, {"lr", tensor({0.3})}};

// Bit by bit.
void expect_no_change(const Program& program, const std::vector<std::string>& fetches) {
  expect_same_results(fuse_lookups, program, kFeeds, fetches, kPersistables, 0);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(FuseLookups, TakesLookupsReshapesAndConcat) {
  const auto program = forward(kSlots);
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_EQ(ops_of(*program), text(R"(
    lookup_concat(Ids=[a, b], W=w, X=dense) -> out {columns=[3L, 3L], is_sparse=[0L], offsets=[0L, 3L], padding_idx=[-1L, -1L], tables=[0L, 0L], x_offsets=[6L]}
    square(X=out) -> sq
    reduce_sum(X=sq) -> loss {reduce_all=true}
  )"));
}

TEST(FuseLookups, TakesTheGradientsAndTheirSum) {
  const auto program = trained(kSlots);
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_THAT(types_of(*program),
              ElementsAre("lookup_concat", "square", "reduce_sum", "fill_constant",
                          "reduce_sum_grad", "square_grad", "lookup_concat_grad", "sgd"));
  const Op& grad = program->global_block().op(6);
  EXPECT_EQ(grad.input("Out@GRAD"), "out@GRAD");
  EXPECT_EQ(grad.output("W@GRAD"), "w@GRAD");
  EXPECT_EQ(grad.role(), kBackwardRole);
}

TEST(FuseLookups, ChangesNoResult) {
  expect_no_change(*forward(kSlots), {"loss", "out"});
  expect_no_change(*trained(kSlots), {"loss", "out", "w"});
  expect_no_change(*trained(replaced(kSlots, "is_sparse=true", "is_sparse=false")),
                   {"loss", "out", "w@GRAD", "w"});
  for (const char* padding : {"1", "5", "-4"}) {
    for (const char* sparse : {"true", "false"}) {
      const std::string attrs = fmt::format("is_sparse={}, padding_idx={}", sparse, padding);
      expect_no_change(*trained(replaced(kSlots, "is_sparse=true", attrs)), {"loss", "out", "w"});
    }
  }
}

// The form of older programs, whose lookup drops the last extent itself.
TEST(FuseLookups, TakesLookupsWithoutReshapes) {
  const auto program = trained(R"(
    lookup_table(Ids=a, W=w) -> q {is_sparse=true}
    lookup_table(Ids=b, W=w) -> s {is_sparse=true}
    concat(X=[q, s]) -> out {axis=-1}
  )");
  expect_no_change(*program, {"loss", "out", "w"});
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_THAT(types_of(*program), Not(Contains("lookup_table_grad")));
}

// Several tables, several ids in a row, one lookup alone in its table, pieces on both sides of a
// tensor that has a gradient of its own.
TEST(FuseLookups, TakesSeveralTablesAndOtherInputs) {
  const auto program = trained(R"(
    scale(X=dense) -> other {scale=2.0}
    lookup_table_v2(Ids=c, W=w) -> p {is_sparse=true}
    reshape2(X=p) -> Out=q, XShape=qs {shape=[-1, 9]}
    lookup_table_v2(Ids=b, W=w) -> r {is_sparse=true}
    reshape2(X=r) -> Out=s, XShape=ss {shape=[0, 3]}
    lookup_table_v2(Ids=d, W=v) -> t
    squeeze2(X=t) -> Out=u, XShape=us {axes=[1]}
    concat(X=[q, other, s, u]) -> out {axis=1}
  )");
  expect_no_change(*program, {"loss", "out", "w", "v", "v@GRAD"});
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_EQ(program->global_block().op(1).type(), "lookup_concat");
  EXPECT_THAT(types_of(*program), Not(Contains("sum")));
}

// A third lookup, outside of the concat, adds to the gradient of the table.
std::shared_ptr<Program> with_another_gradient(std::string_view sparse) {
  const std::string slots = std::string(kVars) + kSlots + R"(
    lookup_table_v2(Ids=a, W=w) -> x {is_sparse=true}
    square(X=x) -> y
    reduce_sum(X=y) -> z {reduce_all=true}
    square(X=out) -> sq
    reduce_sum(X=sq) -> part {reduce_all=true}
    sum(X=[part, z]) -> loss
  )";
  auto program = build(replaced(slots, "is_sparse=true", sparse));
  append_backward(program->global_block().var("loss"));
  append_sgd(program->global_block(), "w");
  return program;
}

// The sum stays, with less to add.
TEST(FuseLookups, LeavesOtherGradientsOfATable) {
  const auto program = with_another_gradient("is_sparse=true");
  expect_no_change(*program, {"loss", "w"});
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_THAT(types_of(*program), Contains("lookup_concat_grad"));
  const Block& block = program->global_block();
  const Op& sum = block.op(block.size() - 2);
  EXPECT_EQ(sum.type(), "sum");
  EXPECT_EQ(sum.input_list("X").size(), 2);
}

// Dense gradients behind another one: a + (b + c) would have other bits than (a + b) + c.
TEST(FuseLookups, LeavesDenseGradientsThatAreNotAddedFirst) {
  const auto program = with_another_gradient("is_sparse=false");
  const std::string before = ops_of(*program);
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_EQ(ops_of(*program), before);
}

// Two concats of one table.
TEST(FuseLookups, TakesTwoConcatsOfOneTable) {
  const auto program = trained(std::string(replaced(kSlots, "-> out", "-> first")) + R"(
    lookup_table_v2(Ids=b, W=w) -> p2 {is_sparse=true}
    reshape2(X=p2) -> Out=q2, XShape=qs2 {shape=[-1, 3]}
    lookup_table_v2(Ids=d, W=w) -> r2 {is_sparse=true}
    reshape2(X=r2) -> Out=s2, XShape=ss2 {shape=[-1, 3]}
    concat(X=[q2, s2]) -> second {axis=1}
    concat(X=[first, second]) -> out {axis=1}
  )");
  expect_no_change(*program, {"loss", "w"});
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_EQ(std::ranges::count(types_of(*program), "lookup_concat"), 2);
}

// What is not there afterwards, and whoever looks at it stops the fusion of that lookup.
TEST(FuseLookups, LeavesWhatOthersSee) {
  for (const char* const seen : {"p", "q", "s", "q@GRAD", "p@GRAD"}) {
    const auto program = trained(kSlots);
    run_pass(fuse_lookups, *program, {"loss", seen});
    EXPECT_THAT(types_of(*program), Not(Contains("lookup_concat"))) << seen;
    EXPECT_THAT(types_of(*program), Not(Contains("lookup_concat_grad"))) << seen;
  }
}

// A frozen table has no gradient; its lookup stays, as an input like others.
TEST(FuseLookups, LeavesALookupWithoutGradient) {
  auto program = build(std::string(kVars) + R"(
    lookup_table_v2(Ids=a, W=w) -> p {is_sparse=true}
    reshape2(X=p) -> Out=q, XShape=qs {shape=[-1, 3]}
    lookup_table_v2(Ids=d, W=v) -> t
    reshape2(X=t) -> Out=u, XShape=us {shape=[-1, 2]}
    lookup_table_v2(Ids=b, W=w) -> r {is_sparse=true}
    reshape2(X=r) -> Out=s, XShape=ss {shape=[-1, 3]}
    concat(X=[q, u, s]) -> out {axis=1}
  )" + kLoss);
  program->global_block().var("u").stop_gradient = true;
  append_backward(program->global_block().var("loss"));
  expect_no_change(*program, {"loss", "out"});
  run_pass(fuse_lookups, *program, {"loss"});
  EXPECT_THAT(types_of(*program), Contains("lookup_table_v2"));
}

TEST(FuseLookups, LeavesWhatItCannotJoin) {
  const std::string rows = replaced(kSlots, "axis=1", "axis=0");
  const std::string remote =
      replaced(kSlots, "is_sparse=true", "is_sparse=true, is_distributed=true");
  const std::string alone = R"(
    lookup_table_v2(Ids=a, W=w) -> p {is_sparse=true}
    reshape2(X=p) -> Out=q, XShape=qs {shape=[-1, 3]}
    concat(X=[q, dense]) -> out {axis=1}
  )";
  for (const std::string& slots : {replaced(rows, ", dense]", "]"), remote, alone}) {
    const auto program = forward(slots);
    const std::string before = ops_of(*program);
    run_pass(fuse_lookups, *program, {"loss"});
    EXPECT_EQ(ops_of(*program), before);
  }
}

// The ids change between the lookup and the concat.
TEST(FuseLookups, LeavesALookupThatMustComeFirst) {
  const auto program = build(std::string(kVars) + R"(
    scale(X=a) -> ids {scale=1.0}
    lookup_table(Ids=ids, W=w) -> q
    scale(X=b) -> ids {scale=1.0}
    lookup_table(Ids=ids, W=w) -> s
    concat(X=[q, s]) -> out {axis=1}
  )");
  run_pass(fuse_lookups, *program, {"out"});
  EXPECT_THAT(types_of(*program), Not(Contains("lookup_concat")));
}

}  // namespace
}  // namespace flotilla::passes
