// flotilla/ops/loss/rank_loss_test.cc
//
// Losses of an order: rank_loss.cc, bpr_loss.cc.

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(RankLoss, KnownValues) {
  const auto found =
      run_op("rank_loss",
             {{"Label", tensor({1, 0})}, {"Left", tensor({1, 200})}, {"Right", tensor({0.5, 0})}});
  EXPECT_THAT(found.at("Out"), near({0.474077, 200}, 1e-5));
}

TEST(MarginRankLoss, KnownValues) {
  const auto found = run_op(
      "margin_rank_loss",
      {{"Label", tensor({1, 1, -1})}, {"X1", tensor({1, 2, 2})}, {"X2", tensor({0.5, 2.1, 1})}},
      {{"margin", 0.1f}});
  EXPECT_THAT(found.at("Out"), near({0, 0.2, 1.1}, 1e-5));
  EXPECT_THAT(found.at("Activated"), near({0, 1, 1}, 0));
}

TEST(RankLosses, AllKernelsAgree) {
  const Tensor left = uniform({5, 1}, -2, 2), right = uniform({5, 1}, -2, 2, 2);
  check_op(
      {.type = "rank_loss",
       .inputs = {{"Label", tensor({1, 0, 0.5, 1, 0}, {5, 1})}, {"Left", left}, {"Right", right}}});
  check_op({.type = "margin_rank_loss",
            .inputs = {{"Label", tensor({1, -1, 1, 1, -1}, {5, 1})}, {"X1", left}, {"X2", right}},
            .attrs = {{"margin", 0.1f}},
            .grad_outputs = {"Out"}});
  check_op({.type = "bpr_loss",
            .inputs = {{"X", uniform({4, 5}, -3, 3)}, {"Label", ints({0, 4, 2, 2})}}});
}

TEST(RankLosses, Refusals) {
  const Tensor x = uniform({4, 5}, -3, 3);
  EXPECT_REFUSED(build_op("bpr_loss", {{"X", x}, {"Label", ints({0, 4})}}),
                 "Label must hold one class number for each row of X, but Label is [2] and X is "
                 "[4, 5]");
  EXPECT_REFUSED(run_op("bpr_loss", {{"X", x}, {"Label", ints({0, 4, 2, 5})}}),
                 "label 3 is 5, but there are the classes 0 to 4");
  EXPECT_REFUSED(
      build_op("rank_loss", {{"Label", tensor({1, 0})}, {"Left", tensor({1, 2})}, {"Right", x}}),
      "Right must have the shape of Label, but is [4, 5] and Label is [2]");
  EXPECT_REFUSED(build_op("margin_rank_loss", {{"Label", tensor({1, 0})}, {"X1", x}, {"X2", x}}),
                 "X1 must have the shape of Label, but is [4, 5] and Label is [2]");
}

}  // namespace
}  // namespace flotilla
