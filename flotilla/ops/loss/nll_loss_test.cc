#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

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

}  // namespace
}  // namespace flotilla
