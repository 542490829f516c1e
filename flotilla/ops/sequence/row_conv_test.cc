#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(RowConv, SeesRowsBehind) {
  const LoD lod = {{0, 1, 4}};
  const Tensor x = with_lod(tensor({1, 2, 3, 4}, Shape{4, 1}), lod);
  EXPECT_THAT(run_op("row_conv", {{"X", x}, {"Filter", tensor({1, 10}, Shape{2, 1})}}).at("Out"),
              equal_to(tensor({1, 32, 43, 4}, Shape{4, 1})));
  const Tensor filter = uniform({3, 2}, -1, 1, 2);
  check_op({.type = "row_conv",
            .inputs = {{"X", with_lod(uniform({4, 2}, -1, 1), lod)}, {"Filter", filter}}});
  check_op({.type = "row_conv", .inputs = {{"X", uniform({2, 4, 2}, -1, 1)}, {"Filter", filter}}});
  EXPECT_REFUSED(run_op("row_conv", {{"X", x}, {"Filter", filter}}),
                 "X and Filter must have as many columns, but have shapes [4, 1] and [3, 2]");
}

}  // namespace
}  // namespace flotilla
