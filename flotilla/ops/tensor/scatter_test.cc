// flotilla/ops/tensor/scatter_test.cc: index_add and put_along_axis; the others are in
// index_test.cc.

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kX = tensor({{1, 2, 3}, {4, 5, 6}});

Tensor put_along(Attrs attrs) {
  const Inputs inputs = {{"Input", kX},
                         {"Index", ints({0, 0, -1, 1}, {2, 2})},
                         {"Value", tensor({{10, 20}, {30, 40}})}};
  attrs.emplace("Axis", 1);
  return run_op("put_along_axis", inputs, attrs).at("Result");
}

TEST(IndexAdd, KnownValues) {
  const Inputs inputs = {
      {"X", kX}, {"Index", ints({2, 0, 2})}, {"AddValue", tensor({{1, 2, 4}, {8, 16, 32}})}};
  EXPECT_THAT(run_op("index_add", inputs, {{"axis", 1}}).at("Out"),
              equal_to(tensor({{3, 2, 8}, {20, 5, 46}})));
}

TEST(IndexAdd, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    Shape rows = {3, 4, 2};
    rows[axis < 0 ? 2 : axis] = 3;
    check_op({.type = "index_add",
              .inputs = {{"X", uniform({3, 4, 2}, -1, 1)},
                         {"Index", ints({1, 0, 1}, i32)},
                         {"AddValue", uniform(rows, -1, 1, 2)}},
              .attrs = {{"axis", axis}}});
  }
}

TEST(IndexAdd, Refusals) {
  EXPECT_REFUSED(
      build_op("index_add", {{"X", kX}, {"Index", ints({0})}, {"AddValue", tensor({{1, 2}})}}),
      "AddValue must have shape [1, 3], but has [1, 2]");
  EXPECT_REFUSED(
      run_op("index_add", {{"X", kX}, {"Index", ints({2})}, {"AddValue", tensor({{1, 2, 3}})}}),
      "the index at place 0 must lie in [0, 2), but is 2");
}

TEST(PutAlongAxis, KnownValues) {
  EXPECT_THAT(put_along({}), equal_to(tensor({{20, 2, 3}, {4, 40, 30}})));
  EXPECT_THAT(put_along({{"Reduce", "add"}}), equal_to(tensor({{31, 2, 3}, {4, 45, 36}})));
  EXPECT_THAT(put_along({{"Reduce", "add"}, {"Include_self", false}}),
              equal_to(tensor({{30, 2, 3}, {4, 40, 30}})));
}

TEST(PutAlongAxis, AllKernelsAgree) {
  for (const std::string reduce : {"assign", "add"}) {
    for (const bool self : {true, false}) {
      check_op({.type = "put_along_axis",
                .inputs = {{"Input", uniform({3, 4}, -1, 1)},
                           {"Index", ints({2, 0, 1, 3, -1, 0}, {3, 2})},
                           {"Value", uniform({3, 2}, -1, 1, 2)}},
                .attrs = {{"Axis", 1}, {"Reduce", reduce}, {"Include_self", self}}});
    }
  }
}

TEST(PutAlongAxis, GradientOfWhatIsReplaced) {
  check_op({.type = "put_along_axis",
            .inputs = {{"Input", uniform({3, 2}, -1, 1)},
                       {"Index", ints({1, 0, 1, -3, 2, 2}, {3, 2})},
                       {"Value", uniform({3, 2}, -1, 1, 2)}},
            .attrs = {{"Axis", 0}}});
}

TEST(PutAlongAxis, Refusals) {
  EXPECT_REFUSED(put_along({{"Reduce", "mul"}}), "Reduce must be assign or add, but is \"mul\"");
  EXPECT_REFUSED(
      build_op("put_along_axis",
               {{"Input", kX}, {"Index", ints({0, 1}, {2, 1})}, {"Value", tensor({{1, 2}})}}),
      "Value must have the shape [2, 1] of Index, but has [1, 2]");
}

}  // namespace
}  // namespace flotilla
