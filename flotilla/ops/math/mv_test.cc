#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Mv, AMatrixTimesAVector) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_THAT(run_op("mv", {{"X", x}, {"Vec", tensor({1, 0, -1})}}).at("Out"),
              equal_to(tensor({-2, -2})));
  check_op(
      {.type = "mv", .inputs = {{"X", uniform({4, 3}, -1, 1)}, {"Vec", uniform({3}, -1, 1, 2)}}});
  EXPECT_REFUSED(build_op("mv", {{"X", x}, {"Vec", tensor({1, 2})}}),
                 "mv multiplies an m x k matrix with a vector of k elements, but X is [2, 3] and "
                 "Vec is [2]");
}

}  // namespace
}  // namespace flotilla
