#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Hash, StaysBelowTheLimitAndFollowsFromTheRow) {
  const Tensor x = ints({1, 2, 3, 4, 1, 2}, Shape{3, 2});
  const Tensor found = run_op("hash", {{"X", x}}, {{"num_hash", 2}, {"mod_by", 1000}}).at("Out");
  EXPECT_THAT(found, has_shape({3, 2, 1}));
  const std::vector<double> values = values_of(found);
  for (const double value : values) EXPECT_LT(value, 1000);
  EXPECT_EQ(values[0], values[4]);  // the same row
  EXPECT_NE(values[0], values[1]);  // another function
  EXPECT_NE(values[0], values[2]);  // another row
  EXPECT_REFUSED(build_op("hash", {{"X", x}}, {{"num_hash", 0}}),
                 "num_hash and mod_by must be positive, but are 0 and 100000");
}

}  // namespace
}  // namespace flotilla
