#include "flotilla/layers/creation.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Creation = LayersTest;

TEST_F(Creation, ShapesAndValuesMayBeVariables) {
  const Variable rows = data("rows", {1}, i32), shape = data("shape", {2}, i32);
  fill_constant({2, 3}, 1, f32);
  fill_constant({rows, 3}, 2, i64);
  fill_constant(shape, rows, i32, {.name = "given"});
  EXPECT_EQ(ops(), text(R"(
    fill_constant() -> fill_constant_0.tmp_0 {dtype=5, force_cpu=false, shape=[2L, 3L], str_value="1.0", value=1.0}
    fill_constant() -> fill_constant_1.tmp_0 {dtype=2, force_cpu=true, shape=[1L], value=3.0}
    fill_constant(ShapeTensorList=[rows, fill_constant_1.tmp_0]) -> fill_constant_2.tmp_0 {dtype=3, force_cpu=false, shape=[-1L, 3L], str_value="2", value=2.0}
    fill_constant(ShapeTensor=shape, ValueTensor=rows) -> given.tmp_0 {dtype=2, force_cpu=false, shape=longs[]}
  )"));
}

TEST_F(Creation, NumbersInTextAreThoseOfPython) {
  EXPECT_EQ(text_of(3), "3");
  EXPECT_EQ(text_of(3.0), "3.0");
  EXPECT_EQ(text_of(1e-5), "1e-05");
  EXPECT_EQ(text_of(-0.5), "-0.5");
}

TEST_F(Creation, RangesKnowTheirLength) {
  EXPECT_EQ(arange(5).shape(), Shape{5});
  EXPECT_EQ(arange(5).dtype(), i64);
  EXPECT_EQ(arange(1, 6, 2).shape(), Shape{3});
  EXPECT_EQ(arange(0.5, 2.0).dtype(), f32);
  EXPECT_EQ(arange(5, 1).shape(), Shape{0});
  EXPECT_REFUSED(arange(0, 5, 0), "the step of a range cannot be 0");
}

TEST_F(Creation, RangesHaveTheNumbersBetweenTheirEnds) {
  EXPECT_THAT(run({}, {arange(1, 6, 2).name(), linspace(0, 1, 3).name()}),
              testing::ElementsAre(equal_to(tensor({1, 3, 5}, i64)), equal_to({0, 0.5, 1})));
}

TEST_F(Creation, GridsAndMatrices) {
  const Variable x = data("x", {3}), y = data("y", {2});
  EXPECT_EQ(meshgrid({x, y})[1].shape(), (Shape{3, 2}));
  EXPECT_EQ(eye(3, 2).shape(), (Shape{3, 2}));
  EXPECT_EQ(eye(2, {}, f32, {4}).shape(), (Shape{4, 2, 2}));
  EXPECT_EQ(clone(x).name(), "x_clone_0");
}

TEST_F(Creation, RandomNumbersTakeTheShapeOfTheirMean) {
  const Variable mean = data("mean", {-1, 3});
  EXPECT_EQ(gaussian().shape(), Shape{1});
  EXPECT_EQ(gaussian(0.0, 1.0, {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(gaussian(mean, 0.5).shape(), (Shape{-1, 3}));
  EXPECT_EQ(randint(10, {}, {4}).dtype(), i64);
}

}  // namespace
}  // namespace flotilla::layers
