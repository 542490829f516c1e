#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Fsp, KnownValuesAndRefusals) {
  const Tensor x = tensor({1, 2, 3, 4}, {1, 2, 1, 2});
  EXPECT_THAT(run_op("fsp", {{"X", x}, {"Y", tensor({1, 10}, {1, 1, 1, 2})}}).at("Out"),
              near(tensor({10.5, 21.5}, {1, 2, 1}), 1e-6));
  check_op(
      {.type = "fsp",
       .inputs = {{"X", uniform({2, 3, 2, 2}, -1, 1)}, {"Y", uniform({2, 4, 2, 2}, -1, 1, 2)}}});
  EXPECT_REFUSED(build_op("fsp", {{"X", x}, {"Y", full({1, 2, 2, 2}, 1)}}),
                 "X and Y may differ in their channels only, but have shapes [1, 2, 1, 2] and "
                 "[1, 2, 2, 2]");
}

}  // namespace
}  // namespace flotilla
