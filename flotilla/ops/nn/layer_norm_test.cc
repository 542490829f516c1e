#include <gtest/gtest.h>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/run_op.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

TEST(LayerNorm, KnownValues) {
  const OpResult found = run_op(
      "layer_norm",
      {{"X", tensor({{1, 3}, {2, 8}})}, {"Scale", tensor({1, 2})}, {"Bias", tensor({0, 10})}},
      {{"epsilon", 0.0f}});
  EXPECT_THAT(found.at("Y"), near({-1, 12, -1, 12}, 1e-6));
  EXPECT_THAT(found.at("Mean"), near({2, 5}, 1e-6));
  EXPECT_THAT(found.at("Variance"), near({1, 9}, 1e-6));
}

TEST(LayerNorm, AllKernelsAgreeFromEveryAxis) {
  for (const int32_t axis : {1, 2}) {
    const int64_t width = axis == 1 ? 12 : 4;
    check_op({.type = "layer_norm",
              .inputs = {{"X", uniform({2, 3, 4}, -2, 2)},
                         {"Scale", uniform({width}, 0.5, 2, 2)},
                         {"Bias", uniform({width}, -1, 1, 3)}},
              .attrs = {{"begin_norm_axis", axis}},
              .grad_outputs = {"Y"}});
  }
}

TEST(LayerNorm, ScaleAndBiasMayBeLeftOut) {
  check_op(
      {.type = "layer_norm", .inputs = {{"X", uniform({3, 5}, -2, 2)}}, .grad_outputs = {"Y"}});
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  EXPECT_REFUSED(build_op("layer_norm", {{"X", uniform({2, 3}, 0, 1)}}, {{"begin_norm_axis", 2}}),
                 "begin_norm_axis must lie in [1, 2) because X has shape [2, 3], but is 2");
  EXPECT_REFUSED(build_op("layer_norm", {{"X", uniform({2, 3}, 0, 1)}, {"Scale", tensor({1, 2})}}),
                 "Scale must hold 3 elements because X of shape [2, 3] is normalized from axis 1 "
                 "on, but has shape [2]");
}

}  // namespace
}  // namespace flotilla
