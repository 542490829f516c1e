#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(IdentityLoss, ReducesAsANumberSays) {
  const Tensor x = tensor({{1, -2}, {3, 5}});
  const auto loss = [&](int reduction) {
    return run_op("identity_loss", {{"X", x}}, {{"reduction", reduction}}).at("Out");
  };
  EXPECT_THAT(loss(0), equal_to(tensor({7})));
  EXPECT_THAT(loss(1), equal_to(tensor({1.75})));
  EXPECT_THAT(loss(2), equal_to(x));
  EXPECT_THAT(run_op("identity_loss", {{"X", x}}).at("Out"), equal_to(tensor({1.75})));
  for (const int reduction : {0, 1, 2}) {
    check_op({.type = "identity_loss",
              .inputs = {{"X", x}},
              .attrs = {{"reduction", reduction}},
              .integers = reduction != 1});
  }
  EXPECT_REFUSED(build_op("identity_loss", {{"X", x}}, {{"reduction", 3}}),
                 "reduction must be 0 (sum), 1 (mean) or 2 (none), but is 3");
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

}  // namespace
}  // namespace flotilla
