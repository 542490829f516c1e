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

}  // namespace
}  // namespace flotilla
