#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Where, KnownValues) {
  const Tensor condition = bools({true, false, true});
  EXPECT_THAT(run_op("where",
                     {{"Condition", condition}, {"X", tensor({1, 2, 3})}, {"Y", tensor({4, 5, 6})}})
                  .at("Out"),
              equal_to({1, 5, 3}));
  check_op(
      {.type = "where",
       .inputs = {
           {"Condition", condition}, {"X", uniform({3}, -1, 1)}, {"Y", uniform({3}, -1, 1, 2)}}});
  EXPECT_REFUSED(
      build_op("where", {{"Condition", condition}, {"X", tensor({1})}, {"Y", tensor({1, 2, 3})}}),
      "Condition, X and Y must be alike, but have shapes [3], [1] and [3] and hold f32 and f32");
}

}  // namespace
}  // namespace flotilla
