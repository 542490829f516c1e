// flotilla/ops/tensor/space_to_depth_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SpaceToDepth, KnownValues) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {1, 4, 2, 2});
  EXPECT_THAT(
      run_op("space_to_depth", {{"X", x}}, {{"blocksize", int64_t{2}}}).at("Out"),
      equal_to(tensor({0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}, Shape{1, 16, 1, 1})));
}

TEST(SpaceToDepth, AllKernelsAgree) {
  check_op({.type = "space_to_depth",
            .inputs = {{"X", uniform({2, 8, 2, 4}, -1, 1)}},
            .attrs = {{"blocksize", int64_t{2}}}});
}

TEST(SpaceToDepth, Refusals) {
  const auto refused = [](const Shape& shape, int64_t b) {
    build_op("space_to_depth", {{"X", full(shape, 0)}}, {{"blocksize", b}});
  };
  EXPECT_REFUSED(refused({4, 2, 2}, 2), "images must have four axes, but have shape [4, 2, 2]");
  EXPECT_REFUSED(refused({1, 4, 2, 2}, 1), "blocksize must lie in [2, 65536), but is 1");
  EXPECT_REFUSED(refused({1, 2, 2, 2}, 2),
                 "blocks of 2 by 2 do not divide images of shape [1, 2, 2, 2]");
  EXPECT_REFUSED(refused({1, 4, 3, 2}, 2),
                 "blocks of 2 by 2 do not divide images of shape [1, 4, 3, 2]");
}

}  // namespace
}  // namespace flotilla
