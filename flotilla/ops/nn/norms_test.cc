// flotilla/ops/nn/norms_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(GroupNorm, AllKernelsAgree) {
  const Tensor scale = uniform({4}, 0.5, 2, 2), bias = uniform({4}, -1, 1, 3);
  for (const int groups : {1, 2, 4}) {
    check_op({.type = "group_norm",
              .inputs = {{"X", uniform({2, 4, 3, 2}, -1, 3)}, {"Scale", scale}, {"Bias", bias}},
              .attrs = {{"groups", groups}},
              .grad_outputs = {"Y"}});
    check_op({.type = "group_norm",
              .inputs = {{"X", uniform({2, 3, 2, 4}, -1, 3)}, {"Scale", scale}, {"Bias", bias}},
              .attrs = {{"groups", groups}, {"data_layout", "NHWC"}},
              .grad_outputs = {"Y"}});
  }
  EXPECT_REFUSED(build_op("group_norm", {{"X", full({2, 4, 3, 2}, 1)}}, {{"groups", 3}}),
                 "4 channels cannot be cut into 3 groups");
}

TEST(InstanceNorm, IsGroupNormWithAGroupForEachChannel) {
  const Inputs inputs = {{"X", uniform({2, 4, 3, 2}, -1, 3)},
                         {"Scale", uniform({4}, 0.5, 2, 2)},
                         {"Bias", uniform({4}, -1, 1, 3)}};
  EXPECT_THAT(run_op("instance_norm", inputs).at("Y"),
              near(run_op("group_norm", inputs, {{"groups", 4}}).at("Y"), 1e-6));
  check_op({.type = "instance_norm", .inputs = inputs, .grad_outputs = {"Y"}});
}

TEST(Prelu, AllKernelsAgree) {
  const Tensor x = uniform({2, 3, 2, 2}, -1, 1);
  check_op({.type = "prelu", .inputs = {{"X", x}, {"Alpha", tensor({0.25})}}});
  check_op({.type = "prelu",
            .inputs = {{"X", x}, {"Alpha", uniform({1, 3, 1, 1}, 0, 1, 2)}},
            .attrs = {{"mode", "channel"}}});
  check_op({.type = "prelu",
            .inputs = {{"X", uniform({2, 2, 2, 3}, -1, 1)}, {"Alpha", uniform({3}, 0, 1, 2)}},
            .attrs = {{"mode", "channel"}, {"data_format", "NHWC"}}});
  check_op({.type = "prelu",
            .inputs = {{"X", x}, {"Alpha", uniform({1, 3, 2, 2}, 0, 1, 2)}},
            .attrs = {{"mode", "element"}}});
  EXPECT_THAT(run_op("prelu", {{"X", tensor({-2, 2})}, {"Alpha", tensor({0.25})}}).at("Out"),
              near({-0.5, 2}, 0));
  EXPECT_REFUSED(
      build_op("prelu", {{"X", x}, {"Alpha", tensor({1, 2})}}, {{"mode", "channel"}}),
      "Alpha must hold 3 numbers because X has shape [2, 3, 2, 2] and mode is channel, but has "
      "shape [2]");
}

TEST(L2Norm, AllKernelsAgree) {
  const auto found = run_op("norm", {{"X", tensor({3, 4})}});
  EXPECT_THAT(found.at("Out"), near({0.6, 0.8}, 1e-6));
  EXPECT_THAT(found.at("Norm"), near({5}, 1e-6));
  for (const int axis : {0, 1, -1}) {
    check_op({.type = "norm",
              .inputs = {{"X", uniform({3, 4, 2}, 0.2, 1)}},
              .attrs = {{"axis", axis}, {"epsilon", 1e-3f}},
              .grad_outputs = {"Out"}});
  }
}

}  // namespace
}  // namespace flotilla
