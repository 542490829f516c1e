// flotilla/ops/nn/dropout_test.cc

#include <numeric>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

constexpr auto kUpscale = "upscale_in_train";

TEST(Dropout, LeavesOutTheShareThatWasAskedFor) {
  const Tensor x = full({100, 1001}, 2);
  for (const DType dtype : {f32, f64}) {
    const auto found = run_op("dropout", {{"X", converted(x, dtype)}}, {{"dropout_prob", 0.3f}});
    const auto mask = values_of(found.at("Mask")), out = values_of(found.at("Out"));
    EXPECT_EQ(found.at("Mask").dtype(), u8);
    EXPECT_NEAR(std::accumulate(mask.begin(), mask.end(), 0.0) / 100100, 0.7, 0.01);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 2 * mask[i]) << i;
  }
}

TEST(Dropout, UpscalesWhatStays) {
  const auto found = run_op("dropout", {{"X", full({1000}, 1)}},
                            {{"dropout_prob", 0.75f}, {"dropout_implementation", kUpscale}});
  EXPECT_THAT(values_of(found.at("Out")), ::testing::Each(::testing::AnyOf(0.0, 4.0)));
  EXPECT_THAT(values_of(found.at("Out")), ::testing::Contains(4.0));
}

TEST(Dropout, InTestsNothingIsLeftOut) {
  const Inputs inputs = {{"X", tensor({1, 2})}};
  EXPECT_THAT(run_op("dropout", inputs, {{"dropout_prob", 0.25f}, {"is_test", true}}).at("Out"),
              near({0.75, 1.5}, 1e-6));
  EXPECT_THAT(
      run_op("dropout", inputs,
             {{"dropout_prob", 0.25f}, {"is_test", true}, {"dropout_implementation", kUpscale}})
          .at("Out"),
      near({1, 2}, 0));
}

TEST(Dropout, TheExtremes) {
  for (const std::string how : {"downgrade_in_infer", "upscale_in_train"}) {
    const Inputs inputs = {{"X", full({50}, 3)}};
    EXPECT_THAT(run_op("dropout", inputs, {{"dropout_prob", 0.0f}, {"dropout_implementation", how}})
                    .at("Out"),
                all_equal_to(3));
    EXPECT_THAT(run_op("dropout", inputs, {{"dropout_prob", 1.0f}, {"dropout_implementation", how}})
                    .at("Out"),
                all_equal_to(0));
  }
}

TEST(Dropout, GradientsFollowTheMask) {
  for (const std::string how : {"downgrade_in_infer", "upscale_in_train"}) {
    for (const bool is_test : {false, true}) {
      check_op(
          {.type = "dropout",
           .inputs = {{"X", uniform({4, 9}, -1, 1)}, {"Seed", ints({5}, i32)}},
           .attrs = {{"dropout_prob", 0.4f}, {"dropout_implementation", how}, {"is_test", is_test}},
           .grad_outputs = {"Out"}});
    }
  }
}

TEST(Dropout, DrawsTheSameOnEveryDevice) {
  for (const int64_t n : {0, 1, 7, 4099}) {
    for (const bool fixed : {false, true}) {
      check_op({.type = "dropout",
                .inputs = {{"X", uniform({n}, -1, 1)}},
                .attrs = {{"dropout_prob", 0.4f}, {"fix_seed", fixed}, {"seed", 11}},
                .grad = false});
    }
  }
}

// A seed repeats the run of a program, not the mask of a step.
TEST(Dropout, ASeedRepeatsARunOfSteps) {
  const BuiltOp built =
      build_op("dropout", {{"X", full({64}, 1)}}, {{"fix_seed", true}, {"seed", 3}});
  const auto two_steps = [&] {
    Generator generator(1);
    Executor executor({.generator = &generator});
    Scope scope;
    std::vector<std::vector<double>> masks;
    for (int step = 0; step < 2; ++step) {
      const auto found = executor.run(*built.program, built.feeds, {"Mask_0"}, scope);
      masks.push_back(values_of(dense(found[0])));
    }
    return masks;
  };
  const auto first = two_steps(), again = two_steps();
  EXPECT_EQ(first, again);
  EXPECT_NE(first[0], first[1]);
}

TEST(Dropout, ASeedTensorGivesTheSameMaskEachTime) {
  const Inputs inputs = {{"X", full({64}, 1)}, {"Seed", ints({11}, i32)}};
  EXPECT_THAT(run_op("dropout", inputs).at("Mask"), equal_to(run_op("dropout", inputs).at("Mask")));
}

TEST(Dropout, Refusals) {
  EXPECT_REFUSED(build_op("dropout", {{"X", full({2}, 1)}}, {{"dropout_prob", 1.5f}}),
                 "dropout_prob must lie in [0, 1], but is 1.5");
  EXPECT_REFUSED(
      build_op("dropout", {{"X", full({2}, 1)}}, {{"dropout_implementation", "upscale"}}),
      "dropout_implementation must be downgrade_in_infer or upscale_in_train, but is "
      "\"upscale\"");
}

}  // namespace
}  // namespace flotilla
