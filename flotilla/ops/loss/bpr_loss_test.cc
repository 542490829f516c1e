#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(BprLoss, KnownValues) {
  const Inputs inputs = {{"X", tensor({{1, 2, 0.5}, {0, 200, -3}})}, {"Label", ints({1, 0})}};
  EXPECT_THAT(run_op("bpr_loss", inputs).at("Y"),
              near(tensor({0.2573375, 100.024294}, {2, 1}), 1e-4));
}

}  // namespace
}  // namespace flotilla
