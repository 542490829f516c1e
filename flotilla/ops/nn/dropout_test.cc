#include <gmock/gmock.h>

#include <numeric>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const OpOptions kWithMask = {.outputs = {{"Out", 1}, {"Mask", 1}}};

TEST(Dropout, InferenceFollowsTheImplementation) {
  const Inputs x = {{"X", tensor({1, 2})}};
  EXPECT_THAT(run_op("dropout", x, {{"is_test", true}, {"dropout_prob", 0.25f}}).at("Out"),
              near({0.75, 1.5}, 1e-6));
  EXPECT_THAT(run_op("dropout", x,
                     {{"is_test", true},
                      {"dropout_prob", 0.25f},
                      {"dropout_implementation", std::string("upscale_in_train")}})
                  .at("Out"),
              near({1, 2}, 1e-6));
}

TEST(Dropout, TrainingKeepsTheShareAndScalesIt) {
  const auto result = run_op("dropout", {{"X", full({100000}, 1)}},
                             {{"dropout_prob", 0.25f},
                              {"fix_seed", true},
                              {"seed", 7},
                              {"dropout_implementation", std::string("upscale_in_train")}},
                             kWithMask);
  const std::vector<double> values = values_of(result.at("Out")),
                            mask = values_of(result.at("Mask"));
  EXPECT_NEAR(std::accumulate(mask.begin(), mask.end(), 0.0) / 1e5, 0.75, 0.01);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], mask[i] / 0.75, 1e-6);
  }
}

TEST(Dropout, GradientsPassWhereElementsWereKept) {
  for (const char* implementation : {"downgrade_in_infer", "upscale_in_train"}) {
    check_op({.type = "dropout",
              .inputs = {{"X", uniform({3, 5}, 1, 2)}},
              .attrs = {{"dropout_prob", 0.4f},
                        {"is_test", true},
                        {"dropout_implementation", std::string(implementation)}}});
  }
  EXPECT_THAT(
      run_op("dropout_grad", {{"Mask", ints({1, 0}, u8)}, {"Out@GRAD", tensor({3, 3})}},
             {{"dropout_prob", 0.5f}, {"dropout_implementation", std::string("upscale_in_train")}})
          .at("X@GRAD"),
      near({6, 0}, 1e-6));
}

TEST(Dropout, RefusesAProbabilityAboveOne) {
  EXPECT_REFUSED(build_op("dropout", {{"X", tensor({1})}}, {{"dropout_prob", 1.5f}}),
                 "dropout_prob must lie in [0, 1], but is 1.5");
}

}  // namespace
}  // namespace flotilla
