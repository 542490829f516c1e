#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor searched(const Tensor& sorted, const Tensor& values, Attrs attrs = {}) {
  return run_op("searchsorted", {{"SortedSequence", sorted}, {"Values", values}}, attrs).at("Out");
}

TEST(Searchsorted, KnownValues) {
  const Tensor row = tensor({1, 3, 5});
  EXPECT_THAT(searched(row, tensor({{0, 1, 2}, {5, 6, NAN}})),
              equal_to(ints({0, 0, 1, 2, 3, 3}, {2, 3})));
  EXPECT_THAT(searched(row, tensor({1, 5}), {{"right", true}, {"out_int32", true}}),
              equal_to(ints({1, 3}, i32)));
  EXPECT_THAT(searched(ints({1, 3, 2, 4}, {2, 2}), ints({2, 3, 9, 2, 3, 9}, {2, 3})),
              equal_to(ints({1, 1, 2, 0, 1, 2}, {2, 3})));
}

TEST(Searchsorted, Refusals) {
  EXPECT_REFUSED(searched(tensor({1, 3}), ints({1})),
                 "SortedSequence must hold rows of the dtype of Values, but they are f32[2] and "
                 "i64[1]");
  EXPECT_REFUSED(searched(tensor({{1, 3}}), tensor({1, 2}, Shape{2, 1})),
                 "SortedSequence must have one row, or the rows of Values, but they are [1, 2] and "
                 "[2, 1]");
}

}  // namespace
}  // namespace flotilla
