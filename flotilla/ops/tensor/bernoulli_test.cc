#include "flotilla/testing/moments.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Bernoulli, HasItsMoments) {
  const Moments m = moments(run_op("bernoulli", {{"X", full({10000}, 0.3)}}).at("Out"));
  EXPECT_NEAR(m.mean, 0.3, 0.02);
  EXPECT_EQ(m.least, 0);
  EXPECT_EQ(m.largest, 1);
}

}  // namespace
}  // namespace flotilla
