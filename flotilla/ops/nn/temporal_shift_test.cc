// flotilla/ops/nn/temporal_shift_test.cc
//
// Operators of films and of pairs of images: temporal_shift.cc, fsp.cc.

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(TemporalShift, KnownValues) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4, 1, 1});
  const Tensor expected = tensor({0, 6, 3, 4, 1, 0, 7, 8}, {2, 4, 1, 1});
  EXPECT_THAT(run_op("temporal_shift", {{"X", x}}, {{"seg_num", 2}}).at("Out"), near(expected, 0));
  // Films of one image have no neighbours; too few channels for a share stay.
  EXPECT_THAT(run_op("temporal_shift", {{"X", x}}, {{"seg_num", 1}}).at("Out"),
              near(tensor({0, 0, 3, 4, 0, 0, 7, 8}, {2, 4, 1, 1}), 0));
  EXPECT_THAT(
      run_op("temporal_shift", {{"X", x}}, {{"seg_num", 2}, {"shift_ratio", 0.1f}}).at("Out"),
      near(x, 0));
}

TEST(TemporalShift, AllKernelsAgree) {
  check_op({.type = "temporal_shift",
            .inputs = {{"X", uniform({6, 5, 2, 1}, -1, 1)}},
            .attrs = {{"seg_num", 3}, {"shift_ratio", 0.3f}}});
  check_op({.type = "temporal_shift",
            .inputs = {{"X", uniform({4, 2, 2, 4}, -1, 1)}},
            .attrs = {{"seg_num", 2}, {"data_format", "NHWC"}}});
}

TEST(TemporalShift, Refusals) {
  const Tensor x = full({4, 4, 1, 1}, 1);
  EXPECT_REFUSED(build_op("temporal_shift", {{"X", x}}, {{"seg_num", 3}}),
                 "4 images cannot be cut into films of seg_num 3");
  EXPECT_REFUSED(build_op("temporal_shift", {{"X", x}}, {{"shift_ratio", 0.5f}}),
                 "shift_ratio must lie in (0, 0.5), but is 0.5");
  EXPECT_REFUSED(build_op("temporal_shift", {{"X", full({4, 4}, 1)}}),
                 "X must have four axes, but has shape [4, 4]");
}

}  // namespace
}  // namespace flotilla
