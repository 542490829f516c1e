// flotilla/ops/math/cross_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Cross, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}}), y = tensor({{4, 5, 7}});
  EXPECT_THAT(run_op("cross", {{"X", x}, {"Y", y}}).at("Out"), near(tensor({{-1, 5, -3}}), 1e-6));
  EXPECT_THAT(run_op("cross", {{"X", tensor({1, 2, 3}, {3, 1})}, {"Y", tensor({4, 5, 7}, {3, 1})}},
                     {{"dim", 0}})
                  .at("Out"),
              near(tensor({-1, 5, -3}, {3, 1}), 1e-6));
}

TEST(Cross, AllKernelsAgree) {
  for (const int dim : {9, 1, -2}) {
    check_op({.type = "cross",
              .inputs = {{"X", uniform({2, 3, 2}, -4, 4)}, {"Y", uniform({2, 3, 2}, -4, 4, 2)}},
              .attrs = {{"dim", dim}}});
  }
}

TEST(Cross, Refusals) {
  const Tensor x = uniform({2, 4}, -1, 1);
  EXPECT_REFUSED(build_op("cross", {{"X", x}, {"Y", x}}),
                 "cross needs an axis of extent 3, but X has shape [2, 4]");
  EXPECT_REFUSED(build_op("cross", {{"X", x}, {"Y", x}}, {{"dim", 1}}),
                 "axis 1 of X, which has shape [2, 4], must have extent 3");
  EXPECT_REFUSED(build_op("cross", {{"X", uniform({3}, -1, 1)}, {"Y", x}}),
                 "X and Y must have one shape, but they are [3] and [2, 4]");
}

}  // namespace
}  // namespace flotilla
