#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(OneHot, KnownValues) {
  EXPECT_THAT(run_op("one_hot_v2", {{"X", ints({1, 0, 2})}}, {{"depth", 3}}).at("Out"),
              equal_to(tensor({{0, 1, 0}, {1, 0, 0}, {0, 0, 1}})));
  EXPECT_THAT(run_op("one_hot", {{"X", ints({1, 0}, Shape{2, 1}, i32)}},
                     {{"depth", 2}, {"dtype", to_paddle(i64)}})
                  .at("Out"),
              equal_to(ints({0, 1, 1, 0}, Shape{2, 2})));
  EXPECT_THAT(run_op("one_hot_v2", {{"X", ints({5})}}, {{"depth", 3}, {"allow_out_of_range", true}})
                  .at("Out"),
              equal_to({0, 0, 0}));
  EXPECT_REFUSED(run_op("one_hot_v2", {{"X", ints({1, 5})}}, {{"depth", 3}}),
                 "the class at place 1 must lie in [0, 3), but is 5");
}

}  // namespace
}  // namespace flotilla
