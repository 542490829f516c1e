#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SmoothL1Loss, KnownValues) {
  const auto found = run_op("smooth_l1_loss",
                            {{"X", tensor({{1, 1}, {0, 0}})}, {"Y", tensor({{1.5, 3}, {0, 1}})}});
  EXPECT_THAT(found.at("Out"), near(tensor({0.125 + 1.5, 0.5}, {2, 1}), 1e-6));
}

TEST(SmoothL1Loss, AllKernelsAgree) {
  const Tensor x = uniform({3, 4}, -2, 2), y = uniform({3, 4}, -2, 2, 2);
  check_op({.type = "smooth_l1_loss",
            .inputs = {{"X", x}, {"Y", y}},
            .attrs = {{"sigma", 1.5f}},
            .grad_outputs = {"Out"}});
  check_op({.type = "smooth_l1_loss",
            .inputs = {{"X", x},
                       {"Y", y},
                       {"InsideWeight", uniform({3, 4}, 0.5, 2, 3)},
                       {"OutsideWeight", uniform({3, 4}, 0.5, 2, 4)}},
            .grad_outputs = {"Out"}});
}

}  // namespace
}  // namespace flotilla
