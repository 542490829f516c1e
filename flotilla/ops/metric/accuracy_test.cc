#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Accuracy, CountsRowsThatHoldTheLabel) {
  for (const DType dtype : {i64, i32}) {
    const auto found = run_op("accuracy", {{"Out", uniform({4, 2}, 0, 1)},
                                           {"Indices", ints({1, 2, 0, 1, 2, 0, 0, 1}, {4, 2})},
                                           {"Label", ints({2, 2, 1, 1}, {4, 1}, dtype)}});
    EXPECT_THAT(found.at("Accuracy"), equal_to(tensor({0.5})));
    EXPECT_THAT(found.at("Correct"), equal_to(ints({2}, i32)));
    EXPECT_THAT(found.at("Total"), equal_to(ints({4}, i32)));
  }
}

TEST(Accuracy, Refusals) {
  const Tensor out = uniform({2, 1}, 0, 1);
  EXPECT_REFUSED(
      run_op("accuracy",
             {{"Out", out}, {"Indices", ints({0, 1}, {2, 1})}, {"Label", ints({1, -3})}}),
      "label 1 is -3, but must not be negative");
  EXPECT_REFUSED(
      build_op("accuracy", {{"Out", out}, {"Indices", ints({0, 1}, {2, 1})}, {"Label", ints({1})}}),
      "Label must hold one class number for each row of Indices, but Label is [1] and Indices is "
      "[2, 1]");
}

}  // namespace
}  // namespace flotilla
