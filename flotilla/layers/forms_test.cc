#include "flotilla/layers/forms.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class Forms : public LayersTest {
 protected:
  Variable x_ = data("x", {2, 3, 4});
  Variable row_ = data("row", {3});
};

TEST_F(Forms, OtherShapes) {
  EXPECT_EQ(unflatten(x_, -1, {2, 2}).shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(flatten(x_, 1).shape(), (Shape{2, 12}));
  EXPECT_EQ(at_least(3, {row_})[0].shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(at_least(2, {row_})[0].shape(), (Shape{1, 3}));
  EXPECT_EQ(moveaxis(x_, {0}, {2}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(x_, {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(rot90(x_, -1, {1, 2}).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(rot90(x_, 4).name(), "x");
  EXPECT_EQ(transposed(row_).name(), "row");
  EXPECT_EQ(diagflat(row_, 1).shape(), (Shape{4, 4}));
  EXPECT_REFUSED(moveaxis(x_, {0, 1}, {2}), "2 axes cannot go to 1 places");
}

TEST_F(Forms, BoundsOfRangesMayBeVariables) {
  const Variable end = data("end", {1}, i32);
  slice(x_, {0, -1}, {0, 1}, {1, end});
  EXPECT_EQ(ops(), text(R"(
    fill_constant() -> fill_constant_0.tmp_0 {dtype=2, force_cpu=true, shape=[1L], value=1.0}
    slice(EndsTensorList=[fill_constant_0.tmp_0, end], Input=x) -> slice_0.tmp_0 {axes=[0, 2], ends=[1, -1], infer_flags=[1, -1], starts=[0, 1]}
  )"));
  EXPECT_EQ(strided_slice(x_, {2}, {3}, {0}, {-2}).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(crop(x_, Numbers{1, -1, 2}).shape(), (Shape{1, 3, 2}));
}

TEST_F(Forms, Parts) {
  EXPECT_EQ(unbind(x_, -1).size(), 4u);
  EXPECT_EQ(unstack(x_)[1].shape(), (Shape{3, 4}));
  EXPECT_EQ(split(x_, 2, 2)[1].shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(split(x_, std::vector<int64_t>{1, -1}, 1)[1].shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(unique(row_).size(), 1u);
  EXPECT_EQ(unique(row_, {.inverse = true, .counts = true}).size(), 3u);
  EXPECT_EQ(unique_consecutive(row_, {.counts = true}).size(), 2u);
}

TEST_F(Forms, DifferencesOfNeighbours) {
  EXPECT_THAT(run({{"row", tensor({1, 4, 9})}}, {diff(row_).name(), diff(row_, 2).name()}),
              testing::ElementsAre(equal_to(tensor({3, 5})), equal_to(tensor({2}))));
  EXPECT_EQ(diff(row_, 1, 0, row_, row_).shape(), Shape{8});
}

TEST_F(Forms, ShapesThatGoTogether) {
  EXPECT_EQ(broadcast_shape({2, 1, 5}, {4, 1}), (Shape{2, 4, 5}));
  EXPECT_EQ(broadcast_shape({-1, 3}, {1}), (Shape{-1, 3}));
  EXPECT_REFUSED(broadcast_shape({2, 3}, {4, 3}), "[2, 3] and [4, 3] do not go together: 2, 4");
}

TEST_F(Forms, ElementsAlongAnAxis) {
  const Variable m = data("m", {2, 3}), at = data("at", {2, 1}, i64);
  const Variable taken = take_along_axis(m, at, 1), put = put_along_axis(m, at, 9, 1);
  const Variable twice = repeat_interleave(row_, 2);
  const std::vector<Tensor> found = run({{"m", tensor({{1, 2, 3}, {4, 5, 6}})},
                                         {"at", tensor({2, 0}, Shape{2, 1}, i64)},
                                         {"row", tensor({1, 2, 3})}},
                                        {taken.name(), put.name(), twice.name()});
  EXPECT_THAT(found[0], equal_to(tensor({3, 4}, Shape{2, 1})));
  EXPECT_THAT(found[1], equal_to(tensor({{1, 2, 9}, {9, 5, 6}})));
  EXPECT_THAT(found[2], equal_to(tensor({1, 1, 2, 2, 3, 3})));
  EXPECT_REFUSED(take_along_axis(row_, at, 0),
                 "arr has 1 axes and indices 2, but must have as many");
}

}  // namespace
}  // namespace flotilla::layers
