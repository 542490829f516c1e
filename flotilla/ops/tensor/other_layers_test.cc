// flotilla/ops/tensor/other_layers_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Multiplex, TakesRowsFromInputs) {
  const Inputs inputs = {{"Ids", ints({1, 0, 1}, Shape{3, 1}, i32)},
                         {"X", {uniform({3, 2}, -1, 1), uniform({3, 2}, -1, 1, 2)}}};
  check_op({.type = "multiplex", .inputs = inputs});
  Inputs wrong = inputs;
  wrong["Ids"] = ints({1, 0, 2}, Shape{3, 1}, i32);
  EXPECT_REFUSED(run_op("multiplex", wrong), "row 2 asks for input 2, but there are 2");
  // Paddle 1.8's gradient op does not have X.
  const OpResult grads = run_op(
      "multiplex_grad", {{"Ids", inputs.at("Ids")}, {"Out@GRAD", tensor({{1, 2}, {3, 4}, {5, 6}})}},
      {}, {.outputs = {{"X@GRAD", 2}}});
  EXPECT_THAT(grads.at("X@GRAD", 0), equal_to(tensor({{0, 0}, {3, 4}, {0, 0}})));
  EXPECT_THAT(grads.at("X@GRAD", 1), equal_to(tensor({{1, 2}, {0, 0}, {5, 6}})));
}

TEST(Unique, KeepsTheOrder) {
  const Inputs inputs = {{"X", ints({2, 3, 3, 1, 5, 3})}};
  const OpResult found = run_op("unique_with_counts", inputs, {{"dtype", 3}});
  EXPECT_THAT(found.at("Out"), equal_to(ints({2, 3, 1, 5})));
  EXPECT_THAT(found.at("Index"), equal_to(ints({0, 1, 1, 2, 3, 1})));
  EXPECT_THAT(found.at("Count"), equal_to(ints({1, 3, 1, 1})));
  EXPECT_THAT(run_op("unique", {{"X", tensor({0.5, 0.5})}}, {{"dtype", 2}}).at("Out"),
              equal_to({0.5}));
  EXPECT_REFUSED(build_op("unique", inputs, {{"dtype", 5}}),
                 "dtype of unique must be the code of int32 or int64, but is 5");
}

TEST(Unique, SortsTensorsOfAnyShape) {
  const Inputs inputs = {{"X", ints({2, 3, 3, 1, 5, 3}, Shape{2, 3})}};
  const OpOptions all = {.outputs = {{"Indices", 1}, {"Counts", 1}}};
  const OpResult found = run_op("unique", inputs, {{"dtype", 3}, {"is_sorted", true}}, all);
  EXPECT_THAT(found.at("Out"), equal_to(ints({1, 2, 3, 5})));
  EXPECT_THAT(found.at("Index"), equal_to(ints({1, 2, 2, 0, 3, 2})));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({3, 0, 1, 4})));
  EXPECT_THAT(found.at("Counts"), equal_to(ints({1, 1, 3, 1})));
}

TEST(Unique, ComparesSlices) {
  const Inputs inputs = {{"X", tensor({{2, 1, 2}, {3, 0, 3}})}};
  Attrs attrs = {{"dtype", 2}, {"is_sorted", true}, {"axis", std::vector<int32_t>{-1}}};
  const OpOptions all = {.outputs = {{"Indices", 1}, {"Counts", 1}}};
  const OpResult found = run_op("unique", inputs, attrs, all);
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{1, 2}, {0, 3}})));
  EXPECT_THAT(found.at("Index"), equal_to(ints({1, 0, 1}, i32)));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({1, 0}, i32)));
  EXPECT_THAT(found.at("Counts"), equal_to(ints({1, 2}, i32)));
  attrs["axis"] = std::vector<int32_t>{0, 1};
  EXPECT_REFUSED(build_op("unique", inputs, attrs),
                 "axis must hold one number or none, but holds 2");
}

// Whatever is no number counts once, and comes last.
TEST(Unique, WhatIsNoNumberComesLast) {
  const Attrs attrs = {{"dtype", 3}, {"is_sorted", true}};
  const Tensor found = run_op("unique", {{"X", tensor({NAN, 2, NAN, 1})}}, attrs).at("Out");
  EXPECT_THAT(found, has_shape({3}));
  EXPECT_EQ(values_of(found)[0], 1);
  EXPECT_TRUE(std::isnan(values_of(found)[2]));
}

TEST(ShardIndex, PlacesWithinAShard) {
  const Tensor ids = ints({0, 3, 5, 9}, Shape{4, 1});
  const auto places = [&](int shard) {
    return run_op("shard_index", {{"X", ids}},
                  {{"index_num", 10}, {"nshards", 3}, {"shard_id", shard}, {"ignore_value", -7}})
        .at("Out");
  };
  EXPECT_THAT(places(0), equal_to(ints({0, 3, -7, -7}, Shape{4, 1})));
  EXPECT_THAT(places(1), equal_to(ints({-7, -7, 1, -7}, Shape{4, 1})));
  EXPECT_THAT(places(2), equal_to(ints({-7, -7, -7, 1}, Shape{4, 1})));
  EXPECT_REFUSED(places(3), "shard_id must lie in [0, 3), but is 3");
  const Attrs few = {{"index_num", 9}, {"nshards", 3}, {"shard_id", 0}};
  EXPECT_REFUSED(run_op("shard_index", {{"X", ids}}, few),
                 "an id must lie in [0, 9), but the one at place 3 is 9");
}

TEST(Hash, StaysBelowTheLimitAndFollowsFromTheRow) {
  const Tensor x = ints({1, 2, 3, 4, 1, 2}, Shape{3, 2});
  const Tensor found = run_op("hash", {{"X", x}}, {{"num_hash", 2}, {"mod_by", 1000}}).at("Out");
  EXPECT_THAT(found, has_shape({3, 2, 1}));
  const std::vector<double> values = values_of(found);
  for (const double value : values) EXPECT_LT(value, 1000);
  EXPECT_EQ(values[0], values[4]);  // the same row
  EXPECT_NE(values[0], values[1]);  // another function
  EXPECT_NE(values[0], values[2]);  // another row
  EXPECT_REFUSED(build_op("hash", {{"X", x}}, {{"num_hash", 0}}),
                 "num_hash and mod_by must be positive, but are 0 and 100000");
}

TEST(RowConv, SeesRowsBehind) {
  const LoD lod = {{0, 1, 4}};
  const Tensor x = with_lod(tensor({1, 2, 3, 4}, Shape{4, 1}), lod);
  EXPECT_THAT(run_op("row_conv", {{"X", x}, {"Filter", tensor({1, 10}, Shape{2, 1})}}).at("Out"),
              equal_to(tensor({1, 32, 43, 4}, Shape{4, 1})));
  const Tensor filter = uniform({3, 2}, -1, 1, 2);
  check_op({.type = "row_conv",
            .inputs = {{"X", with_lod(uniform({4, 2}, -1, 1), lod)}, {"Filter", filter}}});
  check_op({.type = "row_conv", .inputs = {{"X", uniform({2, 4, 2}, -1, 1)}, {"Filter", filter}}});
  EXPECT_REFUSED(run_op("row_conv", {{"X", x}, {"Filter", filter}}),
                 "X and Filter must have as many columns, but have shapes [4, 1] and [3, 2]");
}

TEST(BilinearTensorProduct, AllKernelsAgree) {
  Inputs inputs = {{"X", uniform({3, 2}, -1, 1)},
                   {"Y", uniform({3, 4}, -1, 1, 2)},
                   {"Weight", uniform({5, 2, 4}, -1, 1, 3)}};
  check_op({.type = "bilinear_tensor_product", .inputs = inputs});
  inputs.emplace("Bias", uniform({1, 5}, -1, 1, 4));
  check_op({.type = "bilinear_tensor_product", .inputs = inputs});
  inputs["Weight"] = full({5, 3, 4}, 0);
  EXPECT_REFUSED(build_op("bilinear_tensor_product", inputs),
                 "Weight must have shape [size, 2, 4] for X [3, 2] and Y [3, 4], but has "
                 "[5, 3, 4]");
}

TEST(Lrn, AllKernelsAgree) {
  for (const std::string format : {"NCHW", "NHWC"}) {
    check_op({.type = "lrn",
              .inputs = {{"X", uniform({2, 4, 2, 3}, -2, 2)}},
              .attrs = {{"n", 3}, {"alpha", 0.5f}, {"k", 1.0f}, {"data_format", format}},
              .grad_outputs = {"Out"}});
  }
  EXPECT_REFUSED(build_op("lrn", {{"X", full({2, 4, 2, 3}, 1)}}, {{"n", 4}}),
                 "n must be odd and positive, but is 4");
}

TEST(TeacherStudentSigmoidLoss, AllKernelsAgree) {
  const Inputs inputs = {{"X", uniform({6, 1}, -3, 3)},
                         {"Label", tensor({-2, -1, 0.2, 0.9, 1.3, 1}, Shape{6, 1})}};
  check_op({.type = "teacher_student_sigmoid_loss", .inputs = inputs});
  EXPECT_THAT(run_op("teacher_student_sigmoid_loss",
                     {{"X", full({4, 1}, 0)}, {"Label", tensor({-2, -1, 0.5, 1.5}, Shape{4, 1})}})
                  .at("Y"),
              near({std::log(2), std::log(2), 2 * std::log(2), 2 * std::log(2)}, 1e-6));
  EXPECT_REFUSED(build_op("teacher_student_sigmoid_loss",
                          {{"X", full({4, 2}, 0)}, {"Label", full({4, 2}, 0)}}),
                 "X and Label must be columns, but have shapes [4, 2] and [4, 2]");
}

TEST(SamplingId, DrawsByTheProbabilities) {
  std::vector<double> rows;
  for (int i = 0; i < 2000; ++i) rows.insert(rows.end(), {0.0, 0.25, 0.75});
  const Tensor x = from_values(rows, Shape{2000, 3}, f32);
  std::vector<double> shares(3);
  for (const double column :
       values_of(run_op("sampling_id", {{"X", x}}, {{"seed", 3}}).at("Out"))) {
    shares[static_cast<size_t>(column)] += 1.0 / 2000;
  }
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[1], 0.25, 0.04);
}

TEST(GaussianRandomBatchSizeLike, HasTheRowsOfAnother) {
  const OpResult found =
      run_op("gaussian_random_batch_size_like", {{"Input", full({500, 2}, 0)}},
             {{"shape", std::vector<int32_t>{-1, 4}}, {"mean", 3.0f}, {"std", 0.5f}, {"seed", 1}});
  EXPECT_THAT(found.at("Out"), has_shape({500, 4}));
  double sum = 0;
  for (const double value : values_of(found.at("Out"))) sum += value;
  EXPECT_NEAR(sum / 2000, 3, 0.05);
}

}  // namespace
}  // namespace flotilla
