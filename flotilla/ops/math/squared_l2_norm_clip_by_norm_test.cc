#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SquaredL2Norm, AllKernelsAgree) {
  check_op({.type = "squared_l2_norm", .inputs = {{"X", uniform({2, 18, 2, 2}, -1, 1)}}});
  EXPECT_THAT(run_op("squared_l2_norm", {{"X", full({20000}, 2)}}).at("Out"), near({80000}, 1e-2));
}

TEST(ClipByNorm, ShortensOnlyWhatIsTooLong) {
  const auto clip = [](float most) {
    return run_op("clip_by_norm", {{"X", tensor({3, 4})}}, {{"max_norm", most}}).at("Out");
  };
  EXPECT_THAT(clip(10), equal_to({3, 4}));
  EXPECT_THAT(clip(1), near({0.6, 0.8}, 1e-6));
  EXPECT_THAT(run_op("clip_by_norm", {{"X", tensor({0, 0})}}, {{"max_norm", 1.0f}}).at("Out"),
              equal_to({0, 0}));
}

}  // namespace
}  // namespace flotilla
