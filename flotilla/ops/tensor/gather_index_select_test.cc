#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

TEST(Gather, KnownValues) {
  const Tensor x = counting({4, 2});
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1, 1, 3})}}).at("Out"),
              equal_to(tensor({{2, 3}, {2, 3}, {6, 7}})));
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1, 3}, Shape{2, 1}, i32)}}).at("Out"),
              equal_to(tensor({{2, 3}, {6, 7}})));
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1}, Shape{})}}, {{"axis", 1}}).at("Out"),
              equal_to(tensor({1, 3, 5, 7})));
  EXPECT_THAT(run_op("index_select", {{"X", x}, {"Index", ints({1, 0})}}, {{"dim", 1}}).at("Out"),
              equal_to(tensor({{1, 0}, {3, 2}, {5, 4}, {7, 6}})));
  EXPECT_THAT(run_op("gather_nd", {{"X", x}, {"Index", ints({3, 1, 0, 0}, Shape{2, 2})}}).at("Out"),
              equal_to(tensor({7, 0})));
  EXPECT_THAT(run_op("gather_nd", {{"X", x}, {"Index", ints({-1, 0}, Shape{2, 1})}}).at("Out"),
              equal_to(tensor({{6, 7}, {0, 1}})));
}

TEST(Gather, WithOverwriteTheLastGradientOfARowStays) {
  const Inputs inputs = {{"X", counting({3, 2})},
                         {"Index", ints({1, 1, 2})},
                         {"Out@GRAD", tensor({{1, 1}, {2, 2}, {4, 4}})}};
  EXPECT_THAT(run_op("gather_grad", inputs, {{"overwrite", true}}).at("X@GRAD"),
              equal_to(tensor({{0, 0}, {2, 2}, {4, 4}})));
  EXPECT_THAT(run_op("gather_grad", inputs).at("X@GRAD"),
              equal_to(tensor({{0, 0}, {3, 3}, {4, 4}})));
}

TEST(Gather, AllKernelsAgree) {
  const Tensor index = ints({2, 0, 2});
  for (const int axis : {0, 1, 2}) {
    check_op({.type = "gather",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}, {"Index", index}},
              .attrs = {{"axis", axis}}});
    check_op({.type = "index_select",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}, {"Index", index}},
              .attrs = {{"dim", axis}}});
  }
  check_op({.type = "gather_nd",
            .inputs = {{"X", uniform({3, 4, 5}, -1, 1)},
                       {"Index", ints({0, 1, 2, 3, 0, 1}, Shape{3, 2})}}});
}

TEST(Gather, RefusesNumbersBeyondTheAxis) {
  for (const int64_t bad : {-1, 4}) {
    EXPECT_REFUSED(run_op("gather", {{"X", counting({4, 2})}, {"Index", ints({0, bad})}}),
                   fmt::format("the index at place 1 must lie in [0, 4), but is {}", bad));
  }
}

}  // namespace
}  // namespace flotilla
