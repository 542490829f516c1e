#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(L1Norm, AllKernelsAgree) {
  check_op({.type = "l1_norm", .inputs = {{"X", uniform({2, 3}, -1, 1)}}, .integers = false});
  EXPECT_THAT(run_op("l1_norm", {{"X", tensor({{1, -2}, {-3, 0}})}}).at("Out"), equal_to({6}));
}

}  // namespace
}  // namespace flotilla
