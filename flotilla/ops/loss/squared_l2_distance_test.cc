// flotilla/ops/loss/squared_l2_distance_test.cc: with modified_huber_loss

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

TEST(ModifiedHuberLoss, OfBothLabels) {
  const Inputs inputs = {{"X", tensor({2, 0.5, -3, 0.5})}, {"Y", tensor({1, 1, 1, 0})}};
  const OpResult found = run_op("modified_huber_loss", inputs);
  EXPECT_THAT(found.at("IntermediateVal"), near({2, 0.5, -3, -0.5}, 1e-6));
  EXPECT_THAT(found.at("Out"), near({0, 0.25, 12, 2.25}, 1e-6));
  check_op({.type = "modified_huber_loss", .inputs = inputs, .grad_outputs = {"Out"}});
  EXPECT_REFUSED(build_op("modified_huber_loss", {{"X", tensor({1, 2})}, {"Y", tensor({1})}}),
                 "Y must have the shape of X, but is [1] and X is [2]");
}

}  // namespace
}  // namespace flotilla
