#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

const Tensor kX = tensor({{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}});

TEST(Crop, KnownValues) {
  const Attrs attrs = {{"shape", Numbers{2, 2}}, {"offsets", Numbers{1, 2}}};
  const Tensor expected = tensor({{7, 8}, {11, 12}});
  for (const char* type : {"crop", "crop_tensor"}) {
    EXPECT_THAT(run_op(type, {{"X", kX}}, attrs).at("Out"), equal_to(expected));
    EXPECT_THAT(run_op(type, {{"X", kX}, {"Offsets", ints({1, 2}, i32)}},
                       {{"shape", Numbers{-1, 2}}, {"offsets", Numbers{-1, -1}}})
                    .at("Out"),
                equal_to(expected));
  }
  EXPECT_THAT(run_op("crop_tensor", {{"X", kX}}, {{"shape", Numbers{1, -1}}}).at("Out"),
              equal_to(tensor({{1, 2, 3, 4}})));
}

TEST(Crop, ExtentsComeFromTensors) {
  EXPECT_THAT(
      run_op("crop", {{"X", kX}, {"Y", full({1, 3}, 0)}}, {{"offsets", Numbers{2, 1}}}).at("Out"),
      equal_to(tensor({{10, 11, 12}})));
  EXPECT_THAT(run_op("crop_tensor", {{"X", kX}, {"Shape", ints({2, 1}, i32)}}).at("Out"),
              equal_to(tensor({1, 5}, Shape{2, 1})));
  EXPECT_THAT(run_op("crop_tensor",
                     {{"X", kX},
                      {"ShapeTensor", {ints({1}, i32), ints({2}, i32)}},
                      {"OffsetsTensor", {ints({2}, i32), ints({0}, i32)}}},
                     {{"shape", Numbers{0, 2}}, {"offsets", Numbers{-1, 0}}})
                  .at("Out"),
              equal_to(tensor({{9, 10}})));
}

TEST(Crop, AllKernelsAgree) {
  const Tensor x = uniform({3, 4, 2}, -1, 1);
  check_op({.type = "crop",
            .inputs = {{"X", x}},
            .attrs = {{"shape", Numbers{2, 2, 1}}, {"offsets", Numbers{1, 0, 1}}}});
  check_op({.type = "crop_tensor",
            .inputs = {{"X", x}, {"Offsets", ints({1, 0, 1}, i32)}},
            .attrs = {{"shape", Numbers{-1, 3, 1}}}});
}

TEST(Crop, Refusals) {
  EXPECT_REFUSED(
      build_op("crop", {{"X", kX}}, {{"shape", Numbers{2}}}),
      "shape must hold an extent for each axis of X, which has shape [3, 4], but holds 1");
  EXPECT_REFUSED(
      build_op("crop", {{"X", kX}}, {{"shape", Numbers{2, 2}}, {"offsets", Numbers{1}}}),
      "offsets must hold a number for each axis of X, which has shape [3, 4], but holds 1");
  EXPECT_REFUSED(
      build_op("crop", {{"X", kX}}, {{"shape", Numbers{2, 2}}, {"offsets", Numbers{2, 0}}}),
      "2 elements from 2 on are no part of axis 0 of X, which has shape [3, 4]");
  EXPECT_REFUSED(build_op("crop_tensor", {{"X", kX}}, {{"shape", Numbers{0, 2}}}),
                 "an extent of a crop must be positive or -1, but along axis 0 it is 0");
  EXPECT_REFUSED(
      build_op("crop_tensor", {{"X", kX}}, {{"shape", Numbers{2, 2}}, {"offsets", Numbers{0, -1}}}),
      "offsets must not be negative, but along axis 1 it is -1");
}

// As a file may hold them.
TEST(Crop, GradientsThatDoNotFit) {
  EXPECT_REFUSED(
      run_op("crop_grad", {{"X", kX}, {"Out@GRAD", full({2, 4}, 0)}}, {{"offsets", Numbers{2, 0}}}),
      "2 elements from 2 on are no part of axis 0 of X, which has shape [3, 4]");
  EXPECT_REFUSED(run_op("crop_grad", {{"X", kX}, {"Out@GRAD", full({2}, 0)}}),
                 "a box of shape [2] is no part of X, which has shape [3, 4]");
  EXPECT_REFUSED(
      run_op("pad_constant_like_grad", {{"Y", full({3, 3}, 0)}, {"Out@GRAD", full({2, 3}, 0)}}),
      "Y must fit into X, but they have the shapes [3, 3] and [2, 3]");
}

}  // namespace
}  // namespace flotilla
