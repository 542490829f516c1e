#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Mul, KnownValues) {
  EXPECT_THAT(
      run_op("mul", {{"X", tensor({{1, 2}, {3, 4}})}, {"Y", tensor({{1, 0}, {1, 1}})}}).at("Out"),
      near({3, 2, 7, 4}, 1e-6));
}

TEST(Mul, AllKernelsAgree) {
  check_op(
      {.type = "mul", .inputs = {{"X", uniform({5, 7}, -1, 1)}, {"Y", uniform({7, 3}, -1, 1, 2)}}});
  check_op({.type = "mul",
            .inputs = {{"X", uniform({2, 3, 2, 3}, -1, 1)}, {"Y", uniform({2, 3, 4, 2}, -1, 1, 2)}},
            .attrs = {{"x_num_col_dims", 2}, {"y_num_col_dims", 2}}});
}

TEST(Mul, RefusesColumnsThatMeetOtherRows) {
  EXPECT_REFUSED(
      build_op("mul", {{"X", uniform({32, 784}, 0, 1)}, {"Y", uniform({128, 10}, 0, 1)}}),
      "X of shape [32, 784] has 784 columns from axis 1 on, but Y of shape [128, 10] has "
      "128 rows");
}

TEST(MatmulV2, KnownShapes) {
  const auto shape = [](const Shape& x, const Shape& y) {
    return run_op("matmul_v2", {{"X", uniform(x, 0, 1)}, {"Y", uniform(y, 0, 1)}})
        .at("Out")
        .shape();
  };
  EXPECT_EQ(shape({3}, {3}), Shape({1}));
  EXPECT_EQ(shape({3}, {3, 2}), Shape({2}));
  EXPECT_EQ(shape({2, 3}, {3}), Shape({2}));
  EXPECT_EQ(shape({5, 1, 2, 3}, {4, 3, 6}), Shape({5, 4, 2, 6}));
}

TEST(MatmulV2, AllKernelsAgreeForEveryTransposition) {
  for (const bool tx : {false, true}) {
    for (const bool ty : {false, true}) {
      check_op({.type = "matmul_v2",
                .inputs = {{"X", uniform(tx ? Shape{4, 3} : Shape{3, 4}, -1, 1)},
                           {"Y", uniform(ty ? Shape{5, 4} : Shape{4, 5}, -1, 1, 2)}},
                .attrs = {{"trans_x", tx}, {"trans_y", ty}}});
      check_op({.type = "matmul_v2",
                .inputs = {{"X", uniform(tx ? Shape{2, 1, 4, 3} : Shape{2, 1, 3, 4}, -1, 1)},
                           {"Y", uniform(ty ? Shape{3, 2, 4} : Shape{3, 4, 2}, -1, 1, 2)}},
                .attrs = {{"trans_x", tx}, {"trans_y", ty}}});
    }
  }
  check_op(
      {.type = "matmul_v2", .inputs = {{"X", uniform({3}, -1, 1)}, {"Y", uniform({3}, -1, 1, 2)}}});
  check_op({.type = "matmul_v2",
            .inputs = {{"X", uniform({2, 5, 3}, -1, 1)}, {"Y", uniform({3, 4}, -1, 1, 2)}}});
  check_op({.type = "matmul_v2",
            .inputs = {{"X", uniform({2, 5, 3}, -1, 1)}, {"Y", uniform({3}, -1, 1, 2)}}});
}

TEST(Matmul, AlphaScalesTheProductAndItsGradients) {
  check_op({.type = "matmul",
            .inputs = {{"X", uniform({2, 3}, -1, 1)}, {"Y", uniform({2, 4}, -1, 1, 2)}},
            .attrs = {{"transpose_X", true}, {"alpha", 0.5f}}});
  check_op({.type = "bmm",
            .inputs = {{"X", uniform({2, 3, 2}, -1, 1)}, {"Y", uniform({2, 2, 4}, -1, 1, 2)}}});
}

}  // namespace
}  // namespace flotilla
