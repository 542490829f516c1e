#include "flotilla/testing/check_op.h"

#include <gtest/gtest-spi.h>

#include "flotilla/base/half.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

// Ops that are wrong, for the checks to find.
template <typename T>
Step plus_one(PrepareContext& c, T mistake) {
  const int64_t n = c.shape("X").numel();
  return [n, mistake, x = c.in<T>("X"), y = c.out<T>("Out")] {
    for (int64_t i = 0; i < n; ++i) y.data()[i] = x.data()[i] + 1 + mistake;
  };
}

const OpDef& wrong_f32 = define_op({
    .type = "toy_wrong_f32",
    .doc = "Adds one, but a little more in f32.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = {{kCpu, f32, [](PrepareContext& c) { return plus_one<float>(c, 1e-3f); }},
                {kCpu, f64, [](PrepareContext& c) { return plus_one<double>(c, 0); }}},
});

const OpDef& wrong_grad = define_op({
    .type = "toy_wrong_grad",
    .doc = "Adds one, and its gradient triples.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .grad = custom_grad([](GradContext& c) {
      c.emit("toy_scale", {{"X", {c.output_grad("Out")}}}, {{"Out", {c.input_grad("X")}}},
             {{"factor", 3.0f}});
    }),
    .kernels = {{kCpu, f32, [](PrepareContext& c) { return plus_one<float>(c, 0); }},
                {kCpu, f64, [](PrepareContext& c) { return plus_one<double>(c, 0); }}},
});

// A kernel of a 16-bit type that is off by an eighth.
template <typename T>
Step plus_one_and_more(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  return [n, x = c.in<T>("X"), y = c.out<T>("Out")] {
    for (int64_t i = 0; i < n; ++i) y.data()[i] = narrow<T>(widen(x.data()[i]) + 1.125f);
  };
}

const OpDef& wrong_f16 = define_op({
    .type = "toy_wrong_f16",
    .doc = "Adds one, but a little more in f16.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = {{kCpu, f32, [](PrepareContext& c) { return plus_one<float>(c, 0); }},
                {kCpu, f64, [](PrepareContext& c) { return plus_one<double>(c, 0); }},
                {kCpu, f16, plus_one_and_more<Half>}},
});

const OpDef& only_f32 = define_op({
    .type = "toy_only_f32",
    .doc = "Adds one.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = {{kCpu, f32, [](PrepareContext& c) { return plus_one<float>(c, 0); }}},
});

TEST(CheckOp, AcceptsWhatIsRight) {
  check_op({.type = "toy_mul",
            .inputs = {{"X", uniform({3, 4}, -2, 2, 1)}, {"Y", uniform({3, 4}, -2, 2, 2)}}});
  check_op({.type = "toy_square", .inputs = {{"X", uniform({2, 3, 4, 5}, -2, 2)}}});
}

TEST(CheckOp, TakesListsOfOutputsAndInputs) {
  check_op({.type = "toy_halves", .inputs = {{"X", uniform({8}, -2, 2)}}, .outputs = {{"Out", 2}}});
  check_op(
      {.type = "toy_join", .inputs = {{"X", {uniform({4}, -2, 2, 1), uniform({4}, -2, 2, 2)}}}});
}

TEST(CheckOp, TakesIntegerInputsAndSparseGradients) {
  check_op(
      {.type = "toy_gather", .inputs = {{"W", uniform({5, 2}, -2, 2)}, {"Ids", ints({1, 3, 1})}}});
}

TEST(CheckOp, FindsAKernelThatDisagrees) {
  EXPECT_NONFATAL_FAILURE(check_op({.type = "toy_wrong_f32", .inputs = {{"X", tensor({1, 2})}}}),
                          "dtype f32");
}

TEST(CheckOp, FindsAShortKernelThatDisagrees) {
  EXPECT_NONFATAL_FAILURE(check_op({.type = "toy_wrong_f16", .inputs = {{"X", tensor({1, 2})}}}),
                          "dtype f16");
}

TEST(CheckOp, FindsAWrongGradient) {
  EXPECT_NONFATAL_FAILURE(check_op({.type = "toy_wrong_grad", .inputs = {{"X", tensor({1})}}}),
                          "the gradient of X_0 at element 0 (1) against finite differences");
}

TEST(CheckOp, AsksForAKernelToCompareWith) {
  EXPECT_NONFATAL_FAILURE(check_op({.type = "toy_only_f32", .inputs = {{"X", tensor({1})}}}),
                          "toy_only_f32 has no cpu f64 kernel to compare with");
  check_op({.type = "toy_only_f32", .inputs = {{"X", tensor({1})}}, .reference = false});
}

TEST(RunOp, FeedsSparseRows) {
  EXPECT_THAT(run_op("toy_rows", {{"Rows", ints({2, 0, 2})}, {"Value", uniform({3, 2}, 1, 1)}},
                     {{"height", 4}})
                  .at("Out"),
              near({1, 1, 0, 0, 2, 2, 0, 0}, 0));
}

TEST(RunOp, MayGiveAnOutputTheVariableOfAnInput) {
  const OpResult result =
      run_op("toy_square", {{"X", tensor({1, 2, 3})}}, {}, {.in_place = {{"X", "Out"}}});
  EXPECT_THAT(result.at("Out"), near({1, 4, 9}, 0));
}

TEST(BuildOp, KnowsTheShapesOfOutputs) {
  EXPECT_EQ(build_op("toy_join", {{"X", {tensor({1, 2}), tensor({3, 4})}}}).var("Out").shape,
            Shape({4}));
}

TEST(Matchers, CompareValuesShapesAndDtypes) {
  EXPECT_THAT(tensor({1, 2}), near({1, 2.5}, 0.5));
  EXPECT_THAT(tensor({1, 2}), ::testing::Not(near({1, 2.6}, 0.5)));
  EXPECT_THAT(tensor({1, 2}), ::testing::Not(near({1, 2, 3}, 9)));
  EXPECT_THAT(tensor({{1, 2}, {3, 4}}), has_shape({2, 2}));
  EXPECT_THAT(tensor({1, 2}, f64), ::testing::Not(equal_to(tensor({1, 2}))));
  EXPECT_THAT(full({2, 3}, 7), all_equal_to(7));
}

TEST(Uniform, RepeatsAndStaysInside) {
  EXPECT_THAT(uniform({100}, -1, 3, 5), equal_to(uniform({100}, -1, 3, 5)));
  EXPECT_GT(distance(uniform({100}, -1, 3, 5), uniform({100}, -1, 3, 6)), 0.1);
  for (const double value : values_of(uniform({100}, -1, 3, 5))) {
    EXPECT_TRUE(-1 <= value && value <= 3);
  }
}

}  // namespace
}  // namespace flotilla
