#include "flotilla/layers/helper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/layers/by_rule.h"
#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

using Helper = LayersTest;
using Initializers = LayersTest;

std::string initial(LayersTest&, Program& startup, const Initializer& initializer,
                    const Shape& shape) {
  create_parameter(shape, f32, {.initializer = initializer});
  const Block& block = startup.global_block();
  return print(block.op(block.size() - 1));
}

TEST_F(Helper, GuardsGiveProgramsAndNamesBack) {
  const auto other = std::make_shared<Program>();
  {
    const ProgramGuard programs(other);
    const NameGuard names;
    EXPECT_EQ(&default_main_program(), other.get());
    EXPECT_EQ(&default_startup_program(), startup_.get());
    EXPECT_EQ(LayerHelper("fc").name(), "fc_0");
  }
  EXPECT_EQ(&default_main_program(), main_.get());
  EXPECT_EQ(LayerHelper("fc").name(), "fc_0");
  EXPECT_EQ(LayerHelper("fc").name(), "fc_1");
}

TEST_F(Helper, TwoNetsUnderFreshNamesShareParametersAndTheirFirstValue) {
  const auto test = std::make_shared<Program>();
  fc(data("x", {-1, 2}), 3);
  {
    const ProgramGuard programs(test, startup_);
    const NameGuard names;
    fc(data("x", {-1, 2}), 3);
  }
  EXPECT_EQ(ops_of(*test), ops());
  EXPECT_EQ(startup_->global_block().size(), 2u);
}

TEST_F(Helper, ASecondGlobalVariableOfANameIsTheSameOneInitialisedTwice) {
  Var& first = create_global_var({1}, 0, f32, true, "total");
  Var& second = create_global_var({1}, 2, f32, true, "total");
  EXPECT_EQ(&first, &second);
  EXPECT_EQ(startup_->global_block().count("fill_constant"), 2);
}

TEST_F(Helper, ErrorsNameTheOpAndLeaveTheBlockAsItWas) {
  const Variable x = data("x", {-1, 2});
  EXPECT_REFUSED(fc(x, 3, {.act = "rellu"}),
                 "the op \"rellu\" is not defined. Did you mean \"relu\"?");
  EXPECT_REFUSED(create_parameter({-1, 2}, f32),
                 "a parameter must have a known shape without zeros, but [-1, 2] was asked for");
}

TEST_F(Initializers, BecomeOneOp) {
  const auto of = [&](const Initializer& init, const Shape& shape) {
    return initial(*this, *startup_, init, shape);
  };
  EXPECT_EQ(of(constant(0.9), {3}),
            "fill_constant() -> create_parameter_0.w_0 {dtype=5, shape=[3L], str_value=\"0.9\", "
            "value=0.9}");
  EXPECT_EQ(of(uniform(-2, 2, 7), {3}),
            "uniform_random() -> create_parameter_1.w_0 {dtype=5, max=2.0, min=-2.0, seed=7, "
            "shape=[3L]}");
  EXPECT_EQ(of(normal(1, 2), {3}),
            "gaussian_random() -> create_parameter_2.w_0 {dtype=5, mean=1.0, seed=0, shape=[3L], "
            "std=2.0}");
  EXPECT_EQ(of(truncated_normal(0, 0.5), {3}),
            "truncated_gaussian_random() -> create_parameter_3.w_0 {dtype=5, mean=0.0, seed=0, "
            "shape=[3], std=0.5}");
  EXPECT_EQ(of(values({1, 2, 3}), {3}),
            "assign_value() -> create_parameter_4.w_0 {dtype=5, fp32_values=[1.0, 2.0, 3.0], "
            "shape=[3]}");
  EXPECT_REFUSED(of(values({1, 2}), {3}),
                 "2 values do not fill \"create_parameter_5.w_0\" of shape [3]");
}

TEST_F(Initializers, ScaleByTheirFans) {
  const auto bound = [&](const Initializer& init, const Shape& shape, const char* attr) {
    initial(*this, *startup_, init, shape);
    const Block& block = startup_->global_block();
    return block.op(block.size() - 1).attr<float>(attr);
  };
  EXPECT_FLOAT_EQ(bound(xavier(), {8, 5}, "max"), 0.6793662f);
  EXPECT_FLOAT_EQ(bound(xavier(), {10, 4}, "max"), 0.6546537f);
  EXPECT_FLOAT_EQ(bound(xavier(), {6, 3, 3, 3}, "max"), std::sqrt(6.0f / 81));
  EXPECT_FLOAT_EQ(bound(xavier(false), {8, 5}, "std"), std::sqrt(2.0f / 13));
  EXPECT_FLOAT_EQ(bound(msra(), {8, 5}, "max"), std::sqrt(6.0f / 8));
  EXPECT_FLOAT_EQ(bound(msra(false), {6, 3, 3, 3}, "std"), std::sqrt(2.0f / 27));
}

TEST_F(Initializers, BecomeAFewOps) {
  create_parameter({4, 2, 3}, f32, {.name = "dirac", .initializer = dirac(2)});
  EXPECT_EQ(
      startup_ops(),
      "fill_constant() -> _generated_var_0 {dtype=5, shape=[4L, 2L, 3L], value=0.0}\n"
      "fill_constant() -> _generated_var_1 {dtype=5, shape=[4L], value=1.0}\n"
      "assign_value() -> _generated_var_2 {dtype=3, int64_values=[0L, 0L, 1L, 1L, 1L, 1L, 2L, "
      "0L, 1L, 3L, 1L, 1L], shape=[4, 3]}\n"
      "scatter_nd_add(Index=_generated_var_2, Updates=_generated_var_1, X=_generated_var_0) "
      "-> dirac\n");
  create_parameter({2, 3, 2}, f32, {.name = "rows", .initializer = orthogonal(2)});
  create_parameter({2, 1, 3, 3}, f32, {.name = "image", .initializer = bilinear()});
  const std::vector<Tensor> found = run({}, {"dirac", "rows", "image"});
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t out = i / 6, in = i / 3 % 2, place = i % 3;
    EXPECT_EQ(found[0].data<float>()[i], out % 2 == in && place == 1 ? 1 : 0);
  }
  float product = 0, length = 0;
  for (int64_t i = 0; i < 6; ++i) {
    product += found[1].data<float>()[i] * found[1].data<float>()[6 + i];
    length += found[1].data<float>()[i] * found[1].data<float>()[i];
  }
  EXPECT_NEAR(product, 0, 1e-5);
  EXPECT_NEAR(length, 4, 1e-5);
  EXPECT_FLOAT_EQ(found[2].data<float>()[9], 0.0625f);
}

TEST_F(Initializers, RefuseShapesThatDoNotFit) {
  const auto made = [](const Initializer& init, const Shape& shape) {
    create_parameter(shape, f32, {.initializer = init});
  };
  EXPECT_REFUSED(made(bilinear(), {2, 3, 3}),
                 "the initializer Bilinear fills filters of shape [out, in, n, n], but the "
                 "parameter has shape [2, 3, 3]");
  EXPECT_REFUSED(made(dirac(2), {3, 3, 3}),
                 "the initializer Dirac divides the first axis into groups, but 2 groups do not "
                 "fit the shape [3, 3, 3]");
  EXPECT_REFUSED(made(orthogonal(), {3}),
                 "the initializer Orthogonal fills parameters of two axes or more, but this one "
                 "has shape [3]");
}

TEST(ByRule, NumbersFollowFromTheKeyAlone) {
  const std::vector<float> some = uniform_by_rule("fc_0.w_0", 3, -1, 1);
  EXPECT_EQ(some, (std::vector<float>{uniform_by_rule("fc_0.w_0", 5, -1, 1)[0], some[1], some[2]}));
  EXPECT_NE(some, uniform_by_rule("fc_0.w_1", 3, -1, 1));
  EXPECT_THAT(uniform_by_rule("k", 1000, 2, 3),
              ::testing::Each(::testing::AllOf(::testing::Ge(2.0f), ::testing::Lt(3.0f))));
  EXPECT_THAT(integers_by_rule("k", 1000, -2, 3),
              ::testing::Each(::testing::AllOf(::testing::Ge(-2), ::testing::Lt(3))));
}

TEST(ByRule, ParametersAreScaledByWhatTheyAre) {
  const auto all_in = [](float low, float high) {
    return ::testing::Each(::testing::AllOf(::testing::Ge(low), ::testing::Le(high)));
  };
  EXPECT_THAT(parameter_by_rule("fc_0.w_0", {8, 5}), all_in(-0.68f, 0.68f));
  EXPECT_THAT(parameter_by_rule("fc_0.b_0", {64}), all_in(-0.1f, 0.1f));
  EXPECT_THAT(parameter_by_rule("bn_scale", {64}), all_in(0.9f, 1.1f));
}

}  // namespace
}  // namespace flotilla::layers
