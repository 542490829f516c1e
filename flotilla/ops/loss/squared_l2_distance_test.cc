#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SquaredL2Distance, OfRows) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  const OpResult found = run_op("squared_l2_distance", {{"X", x}, {"Y", tensor({{0, 4}})}});
  EXPECT_THAT(found.at("sub_result"), equal_to(tensor({{1, -2}, {3, 0}})));
  EXPECT_THAT(found.at("Out"), equal_to(tensor({5, 9}, Shape{2, 1})));
  for (const int64_t rows : {1, 3}) {
    check_op({.type = "squared_l2_distance",
              .inputs = {{"X", uniform({3, 2, 2}, -1, 1)}, {"Y", uniform({rows, 2, 2}, -1, 1, 2)}},
              .grad_outputs = {"Out"}});
  }
  EXPECT_REFUSED(build_op("squared_l2_distance", {{"X", x}, {"Y", full({3, 2}, 0)}}),
                 "Y must have as many rows of as many elements as X, or one row, but they are "
                 "[3, 2] and [2, 2]");
  EXPECT_REFUSED(build_op("squared_l2_distance", {{"X", x}, {"Y", full({2}, 0)}}),
                 "X and Y must have one rank of 2 or more, but have shapes [2, 2] and [2]");
}

}  // namespace
}  // namespace flotilla
