#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

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

TEST(ModifiedHuberLoss, OfBothLabels) {
  const Inputs inputs = {{"X", tensor({2, 0.5, -3, 0.5})}, {"Y", tensor({1, 1, 1, 0})}};
  const OpResult found = run_op("modified_huber_loss", inputs);
  EXPECT_THAT(found.at("IntermediateVal"), near({2, 0.5, -3, -0.5}, 1e-6));
  EXPECT_THAT(found.at("Out"), near({0, 0.25, 12, 2.25}, 1e-6));
  check_op({.type = "modified_huber_loss", .inputs = inputs, .grad_outputs = {"Out"}});
  EXPECT_REFUSED(build_op("modified_huber_loss", {{"X", tensor({1, 2})}, {"Y", tensor({1})}}),
                 "Y must have the shape of X, but is [1] and X is [2]");
}

}  // namespace
}  // namespace flotilla
