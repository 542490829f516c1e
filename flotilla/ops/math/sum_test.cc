#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Sum, KnownValues) {
  const Tensor a = tensor({1, 2}), b = tensor({10, 20}), c = tensor({100, 200});
  EXPECT_THAT(run_op("sum", {{"X", {a}}}).at("Out"), equal_to({1, 2}));
  EXPECT_THAT(run_op("sum", {{"X", {a, b}}}).at("Out"), equal_to({11, 22}));
  EXPECT_THAT(run_op("sum", {{"X", {a, b, c}}}).at("Out"), equal_to({111, 222}));
}

TEST(Sum, AllKernelsAgree) {
  check_op({.type = "sum",
            .inputs = {{"X",
                        {uniform({3, 18, 2, 2}, -1, 1), uniform({3, 18, 2, 2}, -1, 1, 2),
                         uniform({3, 18, 2, 2}, -1, 1, 3)}}}});
}

TEST(Sum, SparseRowsStaySparse) {
  Operands rows;
  rows.emplace_back(sparse({2, 0}, tensor({{1, 2}, {3, 4}}), 3));
  rows.emplace_back(sparse({2}, tensor({{10, 20}}), 3));
  const BuiltOp built = build_op("sum", {{"X", rows}});
  EXPECT_EQ(built.var("Out").kind, VarKind::kSelectedRows);
  EXPECT_THAT(run_op("sum", {{"X", rows}}).at("Out"), equal_to(tensor({{3, 4}, {0, 0}, {11, 22}})));
}

TEST(Sum, SparseRowsIntoADenseTensor) {
  Operands mixed;
  mixed.emplace_back(sparse({2, 2}, tensor({{1, 2}, {3, 4}}), 3));
  mixed.emplace_back(full({3, 2}, 1));
  EXPECT_EQ(build_op("sum", {{"X", mixed}}).var("Out").kind, VarKind::kTensor);
  EXPECT_THAT(run_op("sum", {{"X", mixed}}).at("Out"), equal_to(tensor({{1, 1}, {1, 1}, {5, 7}})));
}

TEST(Sum, RefusesOtherShapes) {
  EXPECT_REFUSED(build_op("sum", {{"X", {uniform({2, 3}, 0, 1), uniform({3, 2}, 0, 1)}}}),
                 "the tensors to sum must be alike, but X[0] is f32[2, 3] and X[1] is f32[3, 2]");
}

}  // namespace
}  // namespace flotilla
