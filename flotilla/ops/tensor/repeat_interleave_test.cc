#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Tensor repeated(int repeats, int dim) {
  return run_op("repeat_interleave", {{"X", tensor({{1, 2}, {3, 4}})}},
                {{"Repeats", repeats}, {"dim", dim}})
      .at("Out");
}

TEST(RepeatInterleave, KnownValues) {
  EXPECT_THAT(repeated(2, 0), equal_to(tensor({{1, 2}, {1, 2}, {3, 4}, {3, 4}})));
  EXPECT_THAT(repeated(2, -1), equal_to(tensor({{1, 1, 2, 2}, {3, 3, 4, 4}})));
  EXPECT_REFUSED(repeated(0, 0), "Repeats must be positive, but is 0");
}

TEST(RepeatInterleave, AllKernelsAgree) {
  for (const int dim : {0, 1, -1}) {
    check_op({.type = "repeat_interleave",
              .inputs = {{"X", uniform({2, 3, 2}, -1, 1)}},
              .attrs = {{"Repeats", 3}, {"dim", dim}}});
  }
}

}  // namespace
}  // namespace flotilla
