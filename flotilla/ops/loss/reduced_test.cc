// flotilla/ops/loss/reduced_test.cc: identity_loss

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

}  // namespace
}  // namespace flotilla
