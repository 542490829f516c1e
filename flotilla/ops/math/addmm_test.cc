#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Addmm, AllKernelsAgree) {
  for (const Shape& input : {Shape{3, 2}, Shape{1, 2}, Shape{3, 1}, Shape{2}, Shape{1}}) {
    check_op({.type = "addmm",
              .inputs = {{"Input", uniform(input, -1, 1)},
                         {"X", uniform({3, 4}, -1, 1, 2)},
                         {"Y", uniform({4, 2}, -1, 1, 3)}},
              .attrs = {{"Alpha", 2.0f}, {"Beta", 0.5f}}});
  }
  EXPECT_REFUSED(
      build_op("addmm", {{"Input", tensor({1})}, {"X", full({3, 4}, 0)}, {"Y", full({3, 2}, 0)}}),
      "addmm multiplies an m x k with a k x n matrix, but X is [3, 4] and Y is [3, 2]");
}

}  // namespace
}  // namespace flotilla
