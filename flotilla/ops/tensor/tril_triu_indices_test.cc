#include <limits>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Tensor lower(int rows, int columns, int offset, DType dtype = i64) {
  return run_op(
             "tril_indices", {},
             {{"rows", rows}, {"cols", columns}, {"offset", offset}, {"dtype", to_paddle(dtype)}})
      .at("out");
}

Tensor upper(int rows, int columns, int offset, DType dtype = i64) {
  return run_op("triu_indices", {},
                {{"row", rows}, {"col", columns}, {"offset", offset}, {"dtype", to_paddle(dtype)}})
      .at("out");
}

TEST(Triangle, PlacesBelow) {
  EXPECT_THAT(lower(2, 3, 0), equal_to(ints({0, 1, 1, 0, 0, 1}, {2, 3})));
  EXPECT_THAT(lower(3, 2, -1, i32), equal_to(ints({1, 2, 2, 0, 0, 1}, {2, 3}, i32)));
  EXPECT_THAT(lower(2, 2, 9), equal_to(ints({0, 0, 1, 1, 0, 1, 0, 1}, {2, 4})));
  EXPECT_THAT(lower(2, 2, -2), has_shape({2, 0}));
}

TEST(Triangle, PlacesAbove) {
  EXPECT_THAT(upper(2, 3, 1), equal_to(ints({0, 0, 1, 1, 2, 2}, {2, 3})));
  EXPECT_THAT(upper(3, 2, 0, i32), equal_to(ints({0, 0, 1, 0, 1, 1}, {2, 3}, i32)));
  EXPECT_THAT(upper(2, 2, -9), equal_to(ints({0, 0, 1, 1, 0, 1, 0, 1}, {2, 4})));
  EXPECT_THAT(upper(2, 2, 2), has_shape({2, 0}));
}

TEST(Triangle, PlacesAreCounted) {
  for (int rows = 0; rows < 4; ++rows) {
    for (int columns = 0; columns < 4; ++columns) {
      for (int offset = -5; offset <= 5; ++offset) {
        int64_t below = 0, above = 0;
        for (int place = 0; place < rows * columns; ++place) {
          below += place % columns <= place / columns + offset;
          above += place % columns >= place / columns + offset;
        }
        EXPECT_THAT(lower(rows, columns, offset), has_shape({2, below}));
        EXPECT_THAT(upper(rows, columns, offset), has_shape({2, above}));
      }
    }
  }
}

TEST(Triangle, RowsWithoutPlacesTakeNoTime) {
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_THAT(upper(kMost, 2, 0), equal_to(ints({0, 0, 1, 0, 1, 1}, {2, 3})));
  EXPECT_THAT(lower(kMost, 2, 1 - kMost), equal_to(ints({kMost - 1, 0}, {2, 1})));
  EXPECT_THAT(lower(kMost, 0, 0), has_shape({2, 0}));
}

TEST(Triangle, Refusals) {
  EXPECT_REFUSED(lower(-1, 2, 0),
                 "the extents of a matrix must lie in [0, 2^31), but are -1 and 2");
  EXPECT_REFUSED(upper(2, -3, 0),
                 "the extents of a matrix must lie in [0, 2^31), but are 2 and -3");
}

TEST(Triangle, Triangles) {
  for (const int diagonal : {-1, 0, 1}) {
    for (const bool lower : {true, false}) {
      check_op({.type = "tril_triu",
                .inputs = {{"X", uniform({2, 3, 4}, -1, 1)}},
                .attrs = {{"diagonal", diagonal}, {"lower", lower}}});
    }
  }
  EXPECT_THAT(run_op("tril_triu", {{"X", full({2, 3}, 1)}}, {{"lower", true}}).at("Out"),
              equal_to(tensor({{1, 0, 0}, {1, 1, 0}})));
}

}  // namespace
}  // namespace flotilla
