#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

TEST(TakeAlongAxis, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor index = ints({0, -1, 1, 1}, {2, 2});
  EXPECT_THAT(
      run_op("take_along_axis", {{"Input", x}, {"Index", index}}, {{"Axis", 1}}).at("Result"),
      near(tensor({{1, 3}, {5, 5}}), 0));
  EXPECT_THAT(
      run_op("take_along_axis", {{"Input", x}, {"Index", ints({1, 0, 1}, {1, 3})}}, {{"Axis", 0}})
          .at("Result"),
      near(tensor({{4, 2, 6}}), 0));
}

TEST(TakeAlongAxis, AllKernelsAgree) {
  const Tensor index = ints({0, 2, 1, 1, 1, 0}, {3, 2}, i32);
  check_op({.type = "take_along_axis",
            .inputs = {{"Input", uniform({3, 4}, -3, 3)}, {"Index", index}},
            .attrs = {{"Axis", 1}}});
  check_op({.type = "take_along_axis",
            .inputs = {{"Input", uniform({3, 4}, -3, 3)}, {"Index", index}},
            .attrs = {{"Axis", -2}}});
}

TEST(TakeAlongAxis, Refusals) {
  const Tensor x = uniform({2, 3}, -3, 3);
  EXPECT_REFUSED(build_op("take_along_axis", {{"Input", x}, {"Index", ints({0, 1})}}),
                 "Index must have as many axes as Input, but they have shapes [2] and [2, 3]");
  EXPECT_REFUSED(
      run_op("take_along_axis", {{"Input", x}, {"Index", ints({3}, {1, 1})}}, {{"Axis", 1}}),
      "the index at place 0 must lie in [-3, 3), but is 3");
  EXPECT_REFUSED(build_op("take_along_axis", {{"Input", x}, {"Index", ints({0, 0, 0}, {3, 1})}},
                          {{"Axis", 1}}),
                 "Index must not reach beyond Input but along axis 1, but they have shapes [3, 1] "
                 "and [2, 3]");
}

TEST(IndexSample, ByNumbersInEachRow) {
  const Tensor index = ints({1, 1, 0, 2}, Shape{2, 2});
  EXPECT_THAT(run_op("index_sample", {{"X", counting({2, 3})}, {"Index", index}}).at("Out"),
              equal_to(tensor({{1, 1}, {3, 5}})));
  check_op({.type = "index_sample", .inputs = {{"X", uniform({2, 3}, -1, 1)}, {"Index", index}}});
  EXPECT_REFUSED(
      run_op("index_sample", {{"X", counting({1, 3})}, {"Index", ints({0, 3}, Shape{1, 2})}}),
      "the index at place 1 must lie in [0, 3), but is 3");
}

}  // namespace
}  // namespace flotilla
