// flotilla/ops/loss/other_losses_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(SigmoidCrossEntropy, KnownValues) {
  const Inputs inputs = {{"X", tensor({0, 2, -2})}, {"Label", tensor({1, 1, 1})}};
  const std::string type = "sigmoid_cross_entropy_with_logits";
  EXPECT_THAT(run_op(type, inputs).at("Out"), near({0.693147, 0.126928, 2.126928}, 1e-5));
  EXPECT_THAT(run_op(type, {{"X", tensor({200, -200})}, {"Label", tensor({0, 1})}}).at("Out"),
              near({200, 200}, 1e-4));
  EXPECT_THAT(run_op(type, {{"X", tensor({0, 2, 5})}, {"Label", tensor({1, 1, -1})}},
                     {{"ignore_index", -1}, {"normalize", true}})
                  .at("Out"),
              near({0.693147 / 2, 0.126928 / 2, 0}, 1e-5));
}

TEST(SigmoidCrossEntropy, AllKernelsAgree) {
  const std::string type = "sigmoid_cross_entropy_with_logits";
  const Tensor x = uniform({4, 5}, -4, 4), label = uniform({4, 5}, 0, 1, 2);
  check_op({.type = type, .inputs = {{"X", x}, {"Label", label}}});
  check_op({.type = type,
            .inputs = {{"X", x}, {"Label", label}, {"pos_weight", uniform({4, 5}, 0.5, 2, 3)}}});
  check_op({.type = type,
            .inputs = {{"X", uniform({4}, -4, 4)}, {"Label", tensor({1, -1, 0, 0.5})}},
            .attrs = {{"ignore_index", -1}, {"normalize", true}}});
}

TEST(HuberLoss, KnownValues) {
  const auto found = run_op("huber_loss", {{"X", tensor({1, 1, 1})}, {"Y", tensor({1.5, 3, -2})}});
  EXPECT_THAT(found.at("Residual"), near({0.5, 2, -3}, 1e-6));
  EXPECT_THAT(found.at("Out"), near({0.125, 1.5, 2.5}, 1e-6));
}

TEST(HuberLoss, AllKernelsAgree) {
  check_op({.type = "huber_loss",
            .inputs = {{"X", uniform({6, 1}, -2, 2)}, {"Y", uniform({6, 1}, -2, 2, 2)}},
            .attrs = {{"delta", 0.7f}},
            .grad_outputs = {"Out"}});
}

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

TEST(KldivLoss, AllKernelsAgree) {
  const Tensor x = uniform({3, 4}, -3, 0), target = uniform({3, 4}, -0.2, 1, 2);
  for (const std::string reduction : {"none", "mean", "batchmean", "sum"}) {
    check_op({.type = "kldiv_loss",
              .inputs = {{"X", x}, {"Target", target}},
              .attrs = {{"reduction", reduction}}});
  }
  EXPECT_THAT(run_op("kldiv_loss", {{"X", tensor({{-1, -2}})}, {"Target", tensor({{0.5, 0}})}},
                     {{"reduction", "batchmean"}})
                  .at("Loss"),
              near(tensor({0.5 * (-0.693147 + 1)}), 1e-6));
  EXPECT_REFUSED(build_op("kldiv_loss", {{"X", x}, {"Target", target}}, {{"reduction", "max"}}),
                 "reduction must be none, mean, batchmean or sum, but is \"max\"");
}

TEST(NllLoss, KnownValues) {
  const Inputs inputs = {{"X", tensor({{-1, -2}, {-3, -4}, {-5, -6}})},
                         {"Label", ints({1, 0, -100})},
                         {"Weight", tensor({1, 3})}};
  const auto mean = run_op("nll_loss", inputs);
  EXPECT_THAT(mean.at("Out"), near(tensor({9.0 / 4}), 1e-6));
  EXPECT_THAT(mean.at("Total_weight"), near({4}, 1e-6));
  EXPECT_THAT(run_op("nll_loss", inputs, {{"reduction", "sum"}}).at("Out"), near({9}, 1e-6));
  EXPECT_THAT(run_op("nll_loss", inputs, {{"reduction", "none"}}).at("Out"), near({6, 3, 0}, 1e-6));
}

TEST(NllLoss, AllKernelsAgree) {
  for (const std::string reduction : {"none", "mean", "sum"}) {
    check_op({.type = "nll_loss",
              .inputs = {{"X", uniform({4, 3}, -3, 0)},
                         {"Label", ints({2, 0, 1, 0}, i32)},
                         {"Weight", tensor({1, 2, 0.5})}},
              .attrs = {{"reduction", reduction}, {"ignore_index", int64_t{1}}},
              .grad_outputs = {"Out"}});
    check_op(
        {.type = "nll_loss",
         .inputs = {{"X", uniform({2, 3, 2, 2}, -3, 0)}, {"Label", uniform_ints({2, 2, 2}, 0, 3)}},
         .attrs = {{"reduction", reduction}},
         .grad_outputs = {"Out"}});
  }
  EXPECT_REFUSED(build_op("nll_loss", {{"X", uniform({4, 3}, -3, 0)}, {"Label", ints({1, 2})}}),
                 "Label must have shape [4] because X is [4, 3], but has shape [2]");
}

TEST(LabelSmooth, KnownValues) {
  const Tensor labels = tensor({{1, 0, 0, 0}});
  EXPECT_THAT(run_op("label_smooth", {{"X", labels}}, {{"epsilon", 0.2f}}).at("Out"),
              near({0.85, 0.05, 0.05, 0.05}, 1e-6));
  EXPECT_THAT(run_op("label_smooth", {{"X", labels}, {"PriorDist", tensor({{0.5, 0.5, 0, 0}})}},
                     {{"epsilon", 0.2f}})
                  .at("Out"),
              near({0.9, 0.1, 0, 0}, 1e-6));
  check_op({.type = "label_smooth",
            .inputs = {{"X", uniform({3, 4}, 0, 1)}},
            .attrs = {{"epsilon", 0.1f}}});
}

}  // namespace
}  // namespace flotilla
