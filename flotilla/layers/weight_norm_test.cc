#include "flotilla/layers/weight_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using WeightNorm = LayersTest;

TEST_F(WeightNorm, StartsAsTheParameterItselfWould) {
  const ParamAttr attr = {.name = "w", .initializer = values({3, 0, 4, 1}), .weight_norm = 1};
  const Variable w = create_parameter({2, 2}, f32, attr);
  const std::vector<Tensor> found = run({}, {w.name(), "w_g", "w_v"});
  EXPECT_THAT(found[0], near(tensor({{3, 0}, {4, 1}}), 1e-6));
  EXPECT_THAT(found[1], near(tensor({{5, 1}}), 1e-6));
  EXPECT_THAT(found[2], equal_to(tensor({{3, 0}, {4, 1}})));
  EXPECT_FALSE(w->parameter.has_value());
}

TEST_F(WeightNorm, OneLengthForAll) {
  const Variable w = create_parameter(
      {2, 2}, f32, {.name = "w", .initializer = values({1, 1, 1, 1}), .weight_norm = kOneLength});
  EXPECT_THAT(run({}, {"w_g"})[0], equal_to(tensor({2}, Shape{1, 1})));
  EXPECT_EQ(w.shape(), (Shape{2, 2}));
}

TEST_F(WeightNorm, AnAxisThatIsNotThereIsRefused) {
  EXPECT_REFUSED(create_parameter({2, 2}, f32, {.name = "w", .weight_norm = 2}),
                 "dim of a WeightNormParamAttr must be None or an axis of the parameter, but it is "
                 "2 and the parameter has shape [2, 2]");
}

}  // namespace
}  // namespace flotilla::layers
