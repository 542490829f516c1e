#include <cmath>

#include "flotilla/testing/moments.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Poisson, HasItsMoments) {
  for (const double rate : {0.3, 20.0, 600.0, 3e6}) {
    const Moments m = moments(make("poisson", {}, {{"X", full({20000}, rate)}}));
    EXPECT_NEAR(m.mean, rate, 0.03 * std::sqrt(rate)) << rate;
    EXPECT_NEAR(m.deviation, std::sqrt(rate), 0.02 * std::sqrt(rate)) << rate;
    EXPECT_GE(m.least, 0);
    EXPECT_EQ(m.largest, std::round(m.largest));
  }
  EXPECT_THAT(make("poisson", {}, {{"X", full({3}, 0)}}), equal_to({0, 0, 0}));
  EXPECT_REFUSED(make("poisson", {}, {{"X", tensor({1, -2})}}),
                 "poisson takes no negative numbers, but the one at place 1 is -2");
}

}  // namespace
}  // namespace flotilla
