#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Stack, AllKernelsAgreeOnEveryAxis) {
  for (const int axis : {0, 1, 2, -1}) {
    check_op({.type = "stack",
              .inputs = {{"X", {uniform({2, 3}, -1, 1), uniform({2, 3}, -1, 1, 2)}}},
              .attrs = {{"axis", axis}}});
  }
  EXPECT_THAT(run_op("stack", {{"X", {tensor({1, 2}), tensor({3, 4})}}}, {{"axis", 1}}).at("Y"),
              equal_to(tensor({{1, 3}, {2, 4}})));
}

}  // namespace
}  // namespace flotilla
