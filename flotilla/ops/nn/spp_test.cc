// flotilla/ops/nn/spp_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// Values of Paddle 1.8.
TEST(Spp, KnownValues) {
  const Tensor x = tensor({1, 2, 3, 0, 1, 2, 6, 0, 1, 5, 6, 0, 4, 5, 6}, {1, 1, 5, 3});
  EXPECT_THAT(run_op("spp", {{"X", x}}, {{"pyramid_height", 2}}).at("Out"),
              near(tensor({6, 1, 3, 6, 6}, {1, 5}), 0));
  const Attrs means = {{"pyramid_height", 2}, {"pooling_type", "avg"}};
  EXPECT_THAT(run_op("spp", {{"X", x}}, means).at("Out"),
              near(tensor({2.8, 0.5, 2, 5, 3}, {1, 5}), 1e-6));
}

TEST(Spp, AllKernelsAgree) {
  for (const char* type : {"max", "avg"}) {
    check_op({.type = "spp",
              .inputs = {{"X", uniform({2, 2, 5, 4}, -4, 4)}},
              .attrs = {{"pyramid_height", 3}, {"pooling_type", type}},
              .integers = false});
  }
}

TEST(Spp, Refusals) {
  const Tensor x = full({1, 1, 4, 3}, 1);
  EXPECT_REFUSED(build_op("spp", {{"X", x}}, {{"pyramid_height", 0}}),
                 "pyramid_height must lie in [1, 16), but is 0");
  EXPECT_REFUSED(build_op("spp", {{"X", x}}, {{"pyramid_height", 3}}),
                 "X must be images of at least 4 x 4 places, but has shape [1, 1, 4, 3]");
}

}  // namespace
}  // namespace flotilla
