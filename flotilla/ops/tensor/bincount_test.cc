#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Bincount, KnownValues) {
  const Tensor x = ints({1, 2, 1, 4});
  EXPECT_THAT(run_op("bincount", {{"X", x}}).at("Out"), equal_to(ints({0, 2, 1, 0, 1})));
  EXPECT_THAT(run_op("bincount", {{"X", x}}, {{"minlength", 6}}).at("Out"),
              equal_to(ints({0, 2, 1, 0, 1, 0})));
  EXPECT_THAT(run_op("bincount", {{"X", x}, {"Weights", tensor({0.5, 1, 2, 3})}}).at("Out"),
              equal_to({0, 2.5, 1, 0, 3}));
  EXPECT_THAT(run_op("bincount", {{"X", x}, {"Weights", ints({1, 1, 2, 3})}}).at("Out"),
              equal_to(tensor({0, 3, 1, 0, 3}, f64)));
}

TEST(Bincount, Refusals) {
  EXPECT_REFUSED(run_op("bincount", {{"X", ints({1, -1})}}),
                 "bincount counts numbers from 0 to 2^55, but the one at place 1 is -1");
  EXPECT_REFUSED(build_op("bincount", {{"X", ints({1, 2})}, {"Weights", tensor({1})}}),
                 "Weights must have the shape [2] of X, but has [1]");
  EXPECT_REFUSED(build_op("bincount", {{"X", ints({1}, {1, 1})}}),
                 "bincount counts the elements of a vector, but X has shape [1, 1]");
}

}  // namespace
}  // namespace flotilla
