// flotilla/ops/nn/softmax_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Softmax, KnownValues) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({0.0900, 0.2447, 0.6652}, 1e-4));
  EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1, 2, 3})}}).at("Out"),
              near({-2.40761, -1.40761, -0.40761}, 1e-5));
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  EXPECT_THAT(run_op("softmax", {{"X", tensor({1000, 1000})}}).at("Out"), near({0.5, 0.5}, 1e-6));
  EXPECT_THAT(run_op("log_softmax", {{"X", tensor({1000, 0})}}).at("Out"), near({0, -1000}, 1e-3));
}

TEST(Softmax, AllKernelsAgreeOnEveryAxis) {
  for (const std::string type : {"softmax", "log_softmax"}) {
    for (const int axis : {-1, 0, 1, 2}) {
      check_op(
          {.type = type, .inputs = {{"X", uniform({3, 4, 5}, -4, 4)}}, .attrs = {{"axis", axis}}});
    }
  }
}

TEST(Softmax, RefusesAnAxisBeyondTheRank) {
  EXPECT_REFUSED(build_op("softmax", {{"X", uniform({2, 3}, 0, 1)}}, {{"axis", 2}}),
                 "axis must lie in [-2, 2) because X has shape [2, 3], but axis is 2");
}

}  // namespace
}  // namespace flotilla
