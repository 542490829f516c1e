#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kX = tensor({{1, 2, 3}, {4, 5, 6}});

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

}  // namespace
}  // namespace flotilla
