// flotilla/ops/nn/interp_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kImage = tensor({1, 2, 3, 4}, {1, 1, 2, 2});

Tensor resized(const std::string& type, Attrs attrs) {
  attrs["out_h"] = 4;
  attrs["out_w"] = 2;
  return run_op(type, {{"X", kImage}}, attrs).at("Out");
}

TEST(Interpolate, KnownValues) {
  EXPECT_THAT(resized("nearest_interp_v2", {{"align_corners", false}}),
              near(tensor({1, 2, 1, 2, 3, 4, 3, 4}, {1, 1, 4, 2}), 0));
  EXPECT_THAT(resized("bilinear_interp_v2", {}),
              near({1, 2, 1.66667, 2.66667, 2.33333, 3.33333, 3, 4}, 1e-4));
  EXPECT_THAT(resized("bilinear_interp_v2", {{"align_corners", false}, {"align_mode", 0}}),
              near({1, 2, 1.5, 2.5, 2.5, 3.5, 3, 4}, 1e-6));
  EXPECT_THAT(resized("bilinear_interp_v2", {{"align_corners", false}, {"align_mode", 1}}),
              near({1, 2, 2, 3, 3, 4, 3, 4}, 1e-6));
}

TEST(Interpolate, OtherNumbersOfAxes) {
  const Attrs edges = {{"align_corners", false}, {"align_mode", 0}};
  const auto at = [&](Attrs size) {
    size.insert(edges.begin(), edges.end());
    return size;
  };
  EXPECT_THAT(
      run_op("linear_interp_v2", {{"X", tensor({1, 2}, {1, 1, 2})}}, at({{"out_w", 4}})).at("Out"),
      near(tensor({1, 1.25, 1.75, 2}, {1, 1, 4}), 1e-6));
  EXPECT_THAT(run_op("trilinear_interp", {{"X", tensor({1, 2}, {1, 1, 2, 1, 1})}},
                     at({{"out_d", 4}, {"out_h", 1}, {"out_w", 1}}))
                  .at("Out"),
              near(tensor({1, 1.25, 1.75, 2}, {1, 1, 4, 1, 1}), 1e-6));
  EXPECT_THAT(
      run_op("bicubic_interp_v2", {{"X", tensor({1, 2, 4}, {1, 1, 1, 3})}},
             at({{"out_h", 1}, {"out_w", 6}}))
          .at("Out"),
      near(tensor({0.89453125, 1.15625, 1.5625, 2.55859375, 3.58203125, 4.2109375}, {1, 1, 1, 6}),
           1e-6));
}

TEST(Interpolate, AScaleGivesTheSize) {
  EXPECT_THAT(run_op("nearest_interp_v2", {{"X", kImage}},
                     {{"scale", std::vector<float>{1.5f, 2}}, {"align_corners", false}})
                  .at("Out"),
              has_shape({1, 1, 3, 4}));
  EXPECT_THAT(run_op("bilinear_interp", {{"X", kImage}}, {{"scale", 2.0f}}).at("Out"),
              has_shape({1, 1, 4, 4}));
}

TEST(Interpolate, AllKernelsAgree) {
  for (const std::string type : {"nearest_interp", "bilinear_interp", "nearest_interp_v2",
                                 "bilinear_interp_v2", "bicubic_interp", "bicubic_interp_v2"}) {
    for (const bool corners : {false, true}) {
      for (const int mode : {0, 1}) {
        for (const int height : {2, 5}) {
          Attrs attrs = {
              {"align_corners", corners}, {"align_mode", mode}, {"out_h", height}, {"out_w", 6}};
          check_op({.type = type, .inputs = {{"X", uniform({2, 2, 3, 3}, -1, 1)}}, .attrs = attrs});
          attrs["data_layout"] = "NHWC";
          check_op({.type = type, .inputs = {{"X", uniform({1, 3, 3, 2}, -1, 1)}}, .attrs = attrs});
        }
      }
    }
  }
}

TEST(Interpolate, AllKernelsAgreeOnOtherNumbersOfAxes) {
  for (const std::string version : {"", "_v2"}) {
    for (const bool corners : {false, true}) {
      Attrs attrs = {
          {"align_corners", corners}, {"out_d", 3}, {"out_h", 2}, {"out_w", 5}, {"align_mode", 0}};
      check_op({.type = "linear_interp" + version,
                .inputs = {{"X", uniform({2, 3, 4}, -1, 1)}},
                .attrs = attrs});
      check_op({.type = "trilinear_interp" + version,
                .inputs = {{"X", uniform({1, 2, 2, 3, 3}, -1, 1)}},
                .attrs = attrs});
      attrs["data_layout"] = "NHWC";
      check_op({.type = "linear_interp" + version,
                .inputs = {{"X", uniform({2, 4, 3}, -1, 1)}},
                .attrs = attrs});
    }
  }
}

TEST(Interpolate, Refusals) {
  EXPECT_REFUSED(
      build_op("bilinear_interp_v2", {{"X", kImage}}, {{"scale", std::vector<float>{2, 2, 2}}}),
      "scale must hold a positive number for each of 2 axes, or one for all, but holds "
      "2, 2, 2");
  EXPECT_REFUSED(build_op("trilinear_interp", {{"X", kImage}}),
                 "X must have rank 5, but has shape [1, 1, 2, 2]");
  EXPECT_REFUSED(build_op("nearest_interp_v2", {{"X", kImage}}),
                 "the size of Out must be positive, but is 0 x 0");
  EXPECT_REFUSED(build_op("nearest_interp_v2", {{"X", tensor({1, 2})}}),
                 "X must have rank 4, but has shape [2]");
}

}  // namespace
}  // namespace flotilla
