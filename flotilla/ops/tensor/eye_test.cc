#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Eye, KnownValues) {
  EXPECT_THAT(run_op("eye", {}, {{"num_rows", int64_t{2}}, {"num_columns", int64_t{3}}}).at("Out"),
              equal_to(tensor({{1, 0, 0}, {0, 1, 0}})));
  EXPECT_THAT(run_op("eye", {}, {{"num_rows", int64_t{2}}, {"dtype", to_paddle(i64)}}).at("Out"),
              equal_to(ints({1, 0, 0, 1}, Shape{2, 2})));
}

}  // namespace
}  // namespace flotilla
