// flotilla/ops/nn/lookup_table_test.cc

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/programs.h"

namespace flotilla {
namespace {

const Tensor kTable = tensor({{1, 2}, {3, 4}, {5, 6}});

TEST(LookupTable, KnownValues) {
  for (const DType dtype : {i64, i32}) {
    EXPECT_THAT(run_op("lookup_table_v2", {{"Ids", ints({2, 0}, dtype)}, {"W", kTable}}).at("Out"),
                near(tensor({{5, 6}, {1, 2}}), 0));
    EXPECT_THAT(
        run_op("lookup_table", {{"Ids", ints({2, 0}, {2, 1}, dtype)}, {"W", kTable}}).at("Out"),
        near(tensor({{5, 6}, {1, 2}}), 0));
  }
  EXPECT_THAT(run_op("lookup_table_v2", {{"Ids", ints({2, 0}, {2, 1})}, {"W", kTable}}).at("Out"),
              near(tensor({5, 6, 1, 2}, {2, 1, 2}), 0));
}

TEST(LookupTable, PaddingGivesZeros) {
  for (const int64_t padding : {1, -2}) {  // also counted from the end
    const auto found = run_op("lookup_table_v2", {{"Ids", ints({0, 1})}, {"W", kTable}},
                              {{"padding_idx", padding}});
    EXPECT_THAT(found.at("Out"), near({1, 2, 0, 0}, 0));
  }
}

TEST(LookupTable, AllKernelsAgree) {
  const Tensor table = uniform({8, 3}, -1, 1);
  for (const int64_t padding : {-1, 1}) {
    for (const bool is_sparse : {false, true}) {
      const Attrs attrs = {{"padding_idx", padding}, {"is_sparse", is_sparse}};
      check_op({.type = "lookup_table_v2",
                .inputs = {{"Ids", ints({1, 5, 1, 0, 7, 2}, {3, 2})}, {"W", table}},
                .attrs = attrs});
      check_op({.type = "lookup_table",
                .inputs = {{"Ids", ints({1, 5, 1, 0, 7, 2}, {6, 1}, i32)}, {"W", table}},
                .attrs = attrs});
    }
  }
}

// Long enough for several threads; repeated rows add up in order.
TEST(LookupTable, TheDenseGradientAddsRepeatedRows) {
  const int64_t n = 2000, width = 64;
  const Tensor ids = uniform_ints({n}, 0, 50), dout = uniform({n, width}, -1, 1);
  const Inputs inputs = {{"Ids", ids}, {"W", full({50, width}, 0)}, {"Out@GRAD", dout}};
  const auto dense = run_op("lookup_table_v2_grad", inputs);
  const auto sparse = run_op("lookup_table_v2_grad", inputs, {{"is_sparse", true}});
  EXPECT_THAT(dense.at("W@GRAD"), near(sparse.at("W@GRAD"), 1e-4));
}

TEST(LookupTable, SparseGradientsSayHowManyRowsTheyHold) {
  const auto program = build(R"(
    var ids i64[4, 2] data
    var w f32[9, 3] data
    var dout f32[4, 2, 3] data
    lookup_table_v2_grad(Ids=ids, W=w, Out@GRAD=dout) -> W@GRAD=dw {is_sparse=true}
  )");
  const Var& grad = program->global_block().var("dw");
  EXPECT_EQ(grad.kind, VarKind::kSelectedRows);
  EXPECT_EQ(grad.shape, (Shape{9, 3}));
}

TEST(LookupTable, Refusals) {
  EXPECT_REFUSED(run_op("lookup_table_v2", {{"Ids", ints({0, 3})}, {"W", kTable}}),
                 "id 3 at position 1 is not a row of the table \"W_0\", which has the rows 0 to 2");
  EXPECT_REFUSED(
      run_op("lookup_table_v2", {{"Ids", ints({-1})}, {"W", kTable}}),
      "id -1 at position 0 is not a row of the table \"W_0\", which has the rows 0 to 2");
  EXPECT_REFUSED(build_op("lookup_table", {{"Ids", ints({0, 1})}, {"W", kTable}}),
                 "the last extent of Ids must be 1, but Ids has shape [2]");
  EXPECT_REFUSED(build_op("lookup_table_v2", {{"Ids", tensor({0, 1})}, {"W", kTable}}),
                 "Ids must hold i64 or i32, but holds f32");
}

}  // namespace
}  // namespace flotilla
