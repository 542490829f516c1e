#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

OpResult items(const Tensor& x, const Attrs& attrs = {}) {
  return run_op("unique_consecutive", {{"X", x}}, attrs,
                {.outputs = {{"Out", 1}, {"Index", 1}, {"Counts", 1}}});
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

TEST(UniqueConsecutive, KnownValues) {
  const OpResult of_list = items(tensor({1, 1, 2, 2, 3, 1, 1, 2}), {{"dtype", to_paddle(i64)}});
  EXPECT_THAT(of_list.at("Out"), equal_to({1, 2, 3, 1, 2}));
  EXPECT_THAT(of_list.at("Index"), equal_to(ints({0, 0, 1, 1, 2, 3, 3, 4})));
  EXPECT_THAT(of_list.at("Counts"), equal_to(ints({2, 2, 1, 2, 1})));
  EXPECT_THAT(items(ints({5, 5, 5, 4}, {2, 2}), {{"dtype", to_paddle(i64)}}).at("Out"),
              equal_to(ints({5, 4})));
}

TEST(UniqueConsecutive, SlicesAlongAnAxis) {
  const Attrs rows = {{"axis", std::vector<int32_t>{0}}, {"dtype", to_paddle(i32)}};
  const OpResult found = items(tensor({{1, 2}, {1, 2}, {0, 2}, {1, 2}}), rows);
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{1, 2}, {0, 2}, {1, 2}})));
  EXPECT_THAT(found.at("Index"), equal_to(ints({0, 0, 1, 2}, i32)));
  EXPECT_THAT(found.at("Counts"), equal_to(ints({2, 1, 1}, i32)));
}

TEST(UniqueConsecutive, OutputsThatNobodyAsksForAreLeftOut) {
  EXPECT_THAT(
      run_op("unique_consecutive", {{"X", ints({3, 3, 1})}}, {{"dtype", to_paddle(i64)}}).at("Out"),
      equal_to(ints({3, 1})));
}

}  // namespace
}  // namespace flotilla
