// flotilla/ops/tensor/counts_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

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

Tensor histogram(const Tensor& x, int64_t bins, int min, int max) {
  return run_op("histogram", {{"X", x}}, {{"bins", bins}, {"min", min}, {"max", max}}).at("Out");
}

TEST(Histogram, KnownValues) {
  EXPECT_THAT(histogram(tensor({1, 2, 1}), 4, 0, 3), equal_to(ints({0, 2, 1, 0})));
  EXPECT_THAT(histogram(tensor({1, 2, 1}), 4, 0, 0), equal_to(ints({2, 0, 0, 1})));
  EXPECT_THAT(histogram(tensor({1, 1}), 4, 0, 0), equal_to(ints({0, 0, 2, 0})));
  EXPECT_THAT(histogram(tensor({-1, 0, 3, 9}), 3, 0, 3), equal_to(ints({1, 0, 1})));
  EXPECT_THAT(histogram(ints({1, 2, 5}), 2, 0, 5), equal_to(ints({2, 1})));
}

TEST(Histogram, Refusals) {
  EXPECT_REFUSED(histogram(tensor({1}), 0, 0, 0), "bins must be positive, but is 0");
  EXPECT_REFUSED(histogram(tensor({1}), 2, 3, 1),
                 "max must not lie below min, but they are 1 and 3");
  EXPECT_REFUSED(histogram(tensor({INFINITY}), 2, 0, 0),
                 "a histogram needs finite ends, but they are inf and inf");
}

Tensor searched(const Tensor& sorted, const Tensor& values, Attrs attrs = {}) {
  return run_op("searchsorted", {{"SortedSequence", sorted}, {"Values", values}}, attrs).at("Out");
}

TEST(Searchsorted, KnownValues) {
  const Tensor row = tensor({1, 3, 5});
  EXPECT_THAT(searched(row, tensor({{0, 1, 2}, {5, 6, NAN}})),
              equal_to(ints({0, 0, 1, 2, 3, 3}, {2, 3})));
  EXPECT_THAT(searched(row, tensor({1, 5}), {{"right", true}, {"out_int32", true}}),
              equal_to(ints({1, 3}, i32)));
  EXPECT_THAT(searched(ints({1, 3, 2, 4}, {2, 2}), ints({2, 3, 9, 2, 3, 9}, {2, 3})),
              equal_to(ints({1, 1, 2, 0, 1, 2}, {2, 3})));
}

TEST(Searchsorted, Refusals) {
  EXPECT_REFUSED(searched(tensor({1, 3}), ints({1})),
                 "SortedSequence must hold rows of the dtype of Values, but they are f32[2] and "
                 "i64[1]");
  EXPECT_REFUSED(searched(tensor({{1, 3}}), tensor({1, 2}, Shape{2, 1})),
                 "SortedSequence must have one row, or the rows of Values, but they are [1, 2] and "
                 "[2, 1]");
}

}  // namespace
}  // namespace flotilla
