#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(IdentityLoss, AddsUpAveragesOrLeaves) {
  const Inputs x = {{"X", tensor({{1, 2}, {3, 6}})}};
  EXPECT_THAT(run_op("identity_loss", x, {{"reduction", 0}}).at("Out"), equal_to({12}));
  EXPECT_THAT(run_op("identity_loss", x).at("Out"), equal_to({3}));
  EXPECT_THAT(run_op("identity_loss", x, {{"reduction", 2}}).at("Out"),
              equal_to(tensor({{1, 2}, {3, 6}})));
  for (int how = 0; how < 3; ++how) {
    check_op({.type = "identity_loss",
              .inputs = {{"X", uniform({3, 4}, -1, 1)}},
              .attrs = {{"reduction", how}}});
  }
  EXPECT_REFUSED(build_op("identity_loss", x, {{"reduction", 3}}),
                 "reduction must be 0 (sum), 1 (mean) or 2 (none), but is 3");
}

}  // namespace
}  // namespace flotilla
