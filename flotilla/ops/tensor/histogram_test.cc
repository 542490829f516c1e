#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor histogram(const Tensor& x, int64_t bins, int min, int max) {
  return run_op("histogram", {{"X", x}}, {{"bins", bins}, {"min", min}, {"max", max}}).at("Out");
}

TEST(Histogram, KnownValues) {
  EXPECT_THAT(histogram(tensor({1, 2, 1}), 4, 0, 3), equal_to(ints({0, 2, 1, 0})));
  EXPECT_THAT(histogram(tensor({1, 2, 1}), 4, 0, 0), equal_to(ints({2, 0, 0, 1})));
  EXPECT_THAT(histogram(tensor({1, 1}), 4, 0, 0), equal_to(ints({0, 0, 2, 0})));
  EXPECT_THAT(histogram(tensor({-1, 0, 3, 9}), 3, 0, 3), equal_to(ints({1, 0, 1})));
  EXPECT_THAT(histogram(ints({1, 2, 5}), 2, 0, 5), equal_to(ints({2, 1})));
}

TEST(Histogram, Refusals) {
  EXPECT_REFUSED(histogram(tensor({1}), 0, 0, 0), "bins must be positive, but is 0");
  EXPECT_REFUSED(histogram(tensor({1}), 2, 3, 1),
                 "max must not lie below min, but they are 1 and 3");
  EXPECT_REFUSED(histogram(tensor({INFINITY}), 2, 0, 0),
                 "a histogram needs finite ends, but they are inf and inf");
}

}  // namespace
}  // namespace flotilla
