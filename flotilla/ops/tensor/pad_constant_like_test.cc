#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(PadConstantLike, KnownValues) {
  EXPECT_THAT(run_op("pad_constant_like", {{"X", full({2, 3}, 0)}, {"Y", tensor({{1, 2}})}},
                     {{"pad_value", 9.0f}})
                  .at("Out"),
              equal_to(tensor({{1, 2, 9}, {9, 9, 9}})));
}

TEST(PadConstantLike, AllKernelsAgree) {
  check_op({.type = "pad_constant_like",
            .inputs = {{"X", full({3, 4}, 0)}, {"Y", uniform({2, 3}, -1, 1)}},
            .attrs = {{"pad_value", 2.0f}}});
}

TEST(PadConstantLike, Refusals) {
  EXPECT_REFUSED(build_op("pad_constant_like", {{"X", full({2, 3}, 0)}, {"Y", full({3, 3}, 0)}}),
                 "Y must fit into X, but they have the shapes [3, 3] and [2, 3]");
}

}  // namespace
}  // namespace flotilla
