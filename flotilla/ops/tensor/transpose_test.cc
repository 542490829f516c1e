#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

TEST(Transpose, KnownValues) {
  EXPECT_THAT(run_op("transpose2", {{"X", counting({2, 3})}}, {{"axis", Numbers{1, 0}}}).at("Out"),
              equal_to(tensor({{0, 3}, {1, 4}, {2, 5}})));
  EXPECT_THAT(
      run_op("transpose", {{"X", counting({2, 3}, u8)}}, {{"axis", Numbers{-1, 0}}}).at("Out"),
      equal_to(tensor({0, 3, 1, 4, 2, 5}, Shape{3, 2}, u8)));
}

TEST(Transpose, AllKernelsAgree) {
  for (const Numbers& axis :
       {Numbers{0, 2, 1}, Numbers{2, 0, 1}, Numbers{1, 2, 0}, Numbers{2, 1, 0}, Numbers{0, 1, 2}}) {
    check_op({.type = "transpose2",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}},
              .attrs = {{"axis", axis}},
              .outputs = {{"XShape", 1}}});
    check_op({.type = "transpose",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}},
              .attrs = {{"axis", axis}}});
  }
}

// More than one tile in each direction, with rests, on several threads.
TEST(Transpose, LargeMatrices) {
  const int64_t rows = 301, columns = 173;
  const Tensor y =
      run_op("transpose2", {{"X", counting({rows, columns})}}, {{"axis", Numbers{1, 0}}}).at("Out");
  const float* found = y.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(found[c * rows + r], static_cast<float>(r * columns + c));
    }
  }
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_REFUSED(build_op("transpose2", {{"X", counting({2, 3})}}, {{"axis", Numbers{0, 0}}}),
                 "axis must name each axis of X, which has shape [2, 3], once, but is [0, 0]");
}

}  // namespace
}  // namespace flotilla
