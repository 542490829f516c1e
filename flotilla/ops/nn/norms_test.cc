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

// Paddle 1.8's gradient op has Y, but neither X nor Mean.
TEST(GroupNorm, GradientFromTheResult) {
  Inputs inputs = {{"X", uniform({2, 4, 3, 2}, -1, 3)},
                   {"Scale", uniform({4}, 0.5, 2, 2)},
                   {"Bias", uniform({4}, -1, 1, 3)}};
  const OpResult made = run_op("group_norm", inputs, {{"groups", 2}});
  for (const char* slot : {"Y", "Mean", "Variance"}) inputs[slot] = made.at(slot);
  inputs["Y@GRAD"] = uniform({2, 4, 3, 2}, -1, 1, 4);
  const auto grads = [&] {
    return run_op("group_norm_grad", inputs, {{"groups", 2}},
                  {.outputs = {{"X@GRAD", 1}, {"Scale@GRAD", 1}, {"Bias@GRAD", 1}}});
  };
  const OpResult expected = grads();
  inputs.erase("X");
  inputs.erase("Mean");
  const OpResult found = grads();
  for (const char* slot : {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}) {
    EXPECT_THAT(found.at(slot), near(expected.at(slot), 1e-5)) << slot;
  }
  inputs.erase("Y");
  EXPECT_REFUSED(grads(), "group_norm_grad needs the input \"X\" (as before)");
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
