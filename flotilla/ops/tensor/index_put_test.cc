#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kX = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});

Tensor put(std::vector<Tensor> indices, const Tensor& value, bool accumulate = false) {
  return run_op("index_put", {{"x", kX}, {"indices", std::move(indices)}, {"value", value}},
                {{"accumulate", accumulate}})
      .at("out");
}

Tensor mask(const std::vector<double>& elements, const Shape& shape) {
  return from_values(elements, shape, boolean);
}

TEST(IndexPut, KnownValues) {
  EXPECT_THAT(put({ints({0, -1})}, tensor({0})),
              equal_to(tensor({{0, 0, 0}, {4, 5, 6}, {0, 0, 0}})));
  EXPECT_THAT(put({ints({0, 2}), ints({1, 1})}, tensor({10, 20})),
              equal_to(tensor({{1, 10, 3}, {4, 5, 6}, {7, 20, 9}})));
  EXPECT_THAT(put({ints({1, 1, 1})}, tensor({1, 2, 3}, Shape{3, 1})),
              equal_to(tensor({{1, 2, 3}, {3, 3, 3}, {7, 8, 9}})));
  EXPECT_THAT(put({ints({1, 1, 0})}, tensor({1, 2, 3}, Shape{3, 1}), true),
              equal_to(tensor({{4, 5, 6}, {7, 8, 9}, {7, 8, 9}})));
  EXPECT_THAT(put({ints({0, 2}, Shape{2, 1}), ints({0, 1})}, tensor({-1, -2})),
              equal_to(tensor({{-1, -2, 3}, {4, 5, 6}, {-1, -2, 9}})));
}

TEST(IndexPut, Masks) {
  EXPECT_THAT(put({mask({1, 0, 1}, {3})}, tensor({0, -1}, Shape{2, 1})),
              equal_to(tensor({{0, 0, 0}, {4, 5, 6}, {-1, -1, -1}})));
  EXPECT_THAT(put({mask({0, 1, 0, 0, 0, 0, 0, 0, 1}, {3, 3})}, tensor({20, 90})),
              equal_to(tensor({{1, 20, 3}, {4, 5, 6}, {7, 8, 90}})));
  EXPECT_THAT(put({mask({0, 0, 0}, {3})}, tensor({5})), equal_to(kX));
  EXPECT_THAT(put({mask({1, 0, 1}, {3}), ints({0, 1})}, tensor({5})),
              equal_to(tensor({{5, 2, 3}, {4, 5, 6}, {7, 5, 9}})));
}

TEST(IndexPut, AllKernelsAgree) {
  const Tensor x = uniform({4, 3, 2}, -1, 1);
  for (const bool accumulate : {false, true}) {
    check_op({.type = "index_put",
              .inputs = {{"x", x},
                         {"indices", {ints({3, 0}), ints({1, -1}, Shape{2}, i32)}},
                         {"value", uniform({2, 1}, -1, 1)}},
              .attrs = {{"accumulate", accumulate}},
              .grad_inputs = {"x", "value"}});
    check_op({.type = "index_put",
              .inputs = {{"x", x},
                         {"indices", {mask({1, 0, 1, 1}, {4})}},
                         {"value", uniform({3, 2}, -1, 1)}},
              .attrs = {{"accumulate", accumulate}},
              .grad_inputs = {"x", "value"}});
  }
}

TEST(IndexPut, Refusals) {
  EXPECT_REFUSED(put({ints({3})}, tensor({0})),
                 "an index must lie in [-3, 3) along axis 0, but is 3");
  EXPECT_REFUSED(put({ints({0, 1})}, tensor({1, 2})),
                 "a value of shape [2] cannot be repeated to [2, 3]");
  EXPECT_REFUSED(put({mask({1, 0}, {2})}, tensor({0})),
                 "a mask of shape [2] does not fit axis 0 of x, whose shape is [3, 3]");
  EXPECT_REFUSED(put({ints({0, 1}), ints({0, 1, 2})}, tensor({0})),
                 "an index of shape [3] cannot be repeated to [2]");
}

}  // namespace
}  // namespace flotilla
