#include "flotilla/layers/indexing.h"

#include <gmock/gmock.h>

#include "flotilla/autodiff/backward.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class Indexing : public LayersTest {
 protected:
  Tensor value(Variable fetched, std::vector<Feed> feeds = {}) {
    feeds.push_back({"x", tensor({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}})});
    return run(feeds, {fetched.name()})[0];
  }

  Variable x_ = data("x", {3, 4}, f32, {.stop_gradient = false});
};

TEST_F(Indexing, PicksElements) {
  const Variable x = data("y", {4, 5, 6});
  EXPECT_EQ(index(x, {at(0)}).shape(), (Shape{5, 6}));
  EXPECT_EQ(index(x, {at(-1)}).name(), "y_slice_1");
  EXPECT_EQ(index(x, {{.begin = 1, .end = 3}, at(2)}).shape(), (Shape{2, 6}));
  EXPECT_EQ(index(x, {{.kind = Index::kEllipsis}, at(0)}).shape(), (Shape{4, 5}));
  EXPECT_EQ(index(x, {at(0), {.kind = Index::kNewAxis}}).shape(), (Shape{1, 5, 6}));
  EXPECT_EQ(index(x, {{}, {.kind = Index::kNewAxis}, at(0)}).shape(), (Shape{4, 1, 6}));
  EXPECT_EQ(index(x, {{.step = 2}}).shape(), (Shape{2, 5, 6}));
  EXPECT_REFUSED(index(x, {at(4)}),
                 "element 4 of axis 0 was asked for, but \"y\" has shape [4, 5, 6]");
  EXPECT_REFUSED(index(x, {at(0), at(0), at(0), at(0)}),
                 "4 axes are indexed, but \"y\" has shape [4, 5, 6]");
}

TEST_F(Indexing, PicksByTensors) {
  const Variable rows = constant(ints({2, 0}));
  EXPECT_THAT(value(index(x_, {by(rows)})), equal_to(tensor({{8, 9, 10, 11}, {0, 1, 2, 3}})));
  EXPECT_THAT(value(index(x_, {all(), by(rows)})), equal_to(tensor({{2, 0}, {6, 4}, {10, 8}})));
  EXPECT_THAT(value(index(x_, {by(rows), by(constant(ints({1, -1})))})), equal_to(tensor({9, 3})));
  EXPECT_THAT(value(index(x_, {by(rows), range(1, 3)})), equal_to(tensor({{9, 10}, {1, 2}})));
  EXPECT_THAT(value(index(x_, {at(1), by(rows)})), equal_to(tensor({6, 4})));
}

TEST_F(Indexing, PicksByMasks) {
  const Variable large = x_ > 8, third = data("m", {3}, boolean);
  EXPECT_THAT(value(index(x_, {by(large)}), {{"m", bools({true, true, true})}}),
              equal_to(tensor({9, 10, 11})));
  EXPECT_THAT(value(index(x_, {by(third), at(1)}), {{"m", bools({true, false, true})}}),
              equal_to(tensor({1, 9})));
  EXPECT_THAT(value(index(x_, {by(third)}), {{"m", bools({false, false, false})}}),
              has_shape({0, 4}));
}

TEST_F(Indexing, TrueKeepsAllAlongANewAxis) {
  const Variable yes = constant(bools({true})), no = constant(bools({false}));
  EXPECT_THAT(value(index(x_, {all_if(yes), at(0)})), equal_to(tensor({{0, 1, 2, 3}})));
  EXPECT_THAT(value(index(x_, {all_if(no)})), has_shape({0, 3, 4}));
  EXPECT_THAT(value(index(x_, {all(), all_if(yes), range(0, 1)})),
              equal_to(tensor({0, 4, 8}, Shape{3, 1, 1})));
}

TEST_F(Indexing, AMaskMeetsTensorsOfOneElement) {
  const Variable third = data("m", {3}, boolean);
  EXPECT_THAT(
      value(index(x_, {by(third), by(constant(ints({1})))}), {{"m", bools({true, false, true})}}),
      equal_to(tensor({1, 9})));
}

TEST_F(Indexing, RefusesAMaskOfOtherExtents) {
  EXPECT_REFUSED(index(x_, {all(), by(data("m", {3}, boolean))}),
                 "a mask of shape [3] stands for axis 1 and those after it, but \"x\" has shape "
                 "[3, 4]");
}

TEST_F(Indexing, NewAxesOfASingleElement) {
  EXPECT_THAT(value(index(x_, {{.kind = Index::kNewAxis}, at(0), at(1)})), equal_to(tensor({1})));
}

TEST_F(Indexing, SetsTheFirstElementBackwards) {
  EXPECT_THAT(value(set(x_, {range(1, -5, -1), at(0)}, 7)),
              equal_to(tensor({{7, 1, 2, 3}, {7, 5, 6, 7}, {8, 9, 10, 11}})));
}

TEST_F(Indexing, TakesNumbersFromVariables) {
  const Variable i = data("i", {1}, i64);
  const Feed last = {"i", ints({-1})}, middle = {"i", ints({1})};
  EXPECT_THAT(value(index(x_, {at(i)}), {last}), equal_to(tensor({8, 9, 10, 11})));
  EXPECT_THAT(value(index(x_, {all(), at(i)}), {middle}), equal_to(tensor({1, 5, 9})));
  const Variable none = data("n", {}, i64);
  const Tensor two = Tensor::of<int64_t>(std::array<int64_t, 1>{2}, {});
  EXPECT_THAT(value(index(x_, {at(none)}), {{"n", two}, last}), equal_to(tensor({8, 9, 10, 11})));
  const Feed far = {"i", ints({(int64_t{1} << 32) + 1})};
  EXPECT_THROW(value(index(x_, {at(i)}), {far, {"n", two}}), Error) << "not element 1";
  Index from = all();
  from.begin_var = &static_cast<Var&>(i);
  EXPECT_THAT(value(index(x_, {from}), {middle, {"n", two}}),
              equal_to(tensor({{4, 5, 6, 7}, {8, 9, 10, 11}})));
}

TEST_F(Indexing, Sets) {
  EXPECT_THAT(value(set(x_, {at(0), range(1, 3)}, 7)),
              equal_to(tensor({{0, 7, 7, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}})));
  EXPECT_THAT(value(set(x_, {by(x_ > 2)}, 0.5)),
              equal_to(tensor({{0, 1, 2, 0.5}, {0.5, 0.5, 0.5, 0.5}, {0.5, 0.5, 0.5, 0.5}})));
  const Variable two = constant(tensor({-1, -2}));
  EXPECT_THAT(value(set(x_, {all(), by(constant(ints({3, 0})))}, two)),
              equal_to(tensor({{-2, 1, 2, -1}, {-2, 5, 6, -1}, {-2, 9, 10, -1}})));
  EXPECT_THAT(value(set(x_, {range(1), by(constant(ints({3, 0})))}, two)),
              equal_to(tensor({{0, 1, 2, 3}, {-2, 5, 6, -1}, {-2, 9, 10, -1}})));
}

TEST_F(Indexing, SetsInPlaceWithGradientsOfBothSides) {
  const Variable v = data("v", {4}, f32, {.stop_gradient = false});
  const Variable y = x_ * 2.0;
  set(y, {at(1)}, v, true);
  const Variable loss = sum(y * y);
  const auto grads =
      gradients({&static_cast<Var&>(loss)}, {&static_cast<Var&>(x_), &static_cast<Var&>(v)});
  const Feed given = {"v", tensor({1, 2, 3, 4})};
  EXPECT_THAT(value(main_->global_block().var(grads[0]), {given}),
              equal_to(tensor({{0, 8, 16, 24}, {0, 0, 0, 0}, {64, 72, 80, 88}})));
  EXPECT_THAT(value(main_->global_block().var(grads[1]), {given}), equal_to(tensor({2, 4, 6, 8})));
}

}  // namespace
}  // namespace flotilla::layers
