#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

Tensor slice(const Tensor& x, Numbers axes, Numbers starts, Numbers ends, Numbers drop = {}) {
  return run_op("slice", {{"Input", x}},
                {{"axes", std::move(axes)},
                 {"starts", std::move(starts)},
                 {"ends", std::move(ends)},
                 {"decrease_axis", std::move(drop)}})
      .at("Out");
}

TEST(Slice, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_THAT(slice(x, {1}, {1}, {1000}), equal_to(tensor({{2, 3}, {5, 6}})));
  EXPECT_THAT(slice(x, {0, 1}, {-1, -2}, {2, -1}), equal_to(tensor({5}, Shape{1, 1})));
  EXPECT_THAT(slice(x, {0}, {1}, {2}, {0}), equal_to(tensor({4, 5, 6})));
  EXPECT_THAT(slice(x, {0, 1}, {1, 2}, {2, 3}, {0, 1}), equal_to(tensor({6})));
  EXPECT_THAT(slice(x, {1}, {5}, {9}), has_shape({2, 0}));
}

TEST(Slice, Strides) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto strided = [&](int start, int end, int stride) {
    return run_op("strided_slice", {{"Input", x}},
                  {{"axes", Numbers{0}},
                   {"starts", Numbers{start}},
                   {"ends", Numbers{end}},
                   {"strides", Numbers{stride}}})
        .at("Out");
  };
  EXPECT_THAT(strided(2, 100, 3), equal_to({2, 5, 8}));
  EXPECT_THAT(strided(8, 1, -2), equal_to({8, 6, 4, 2}));
  EXPECT_THAT(strided(9, -1, -1), equal_to({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_THAT(strided(-1, -20, -1), equal_to({9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_THAT(strided(3, -8, -1), equal_to({3}));
}

TEST(Slice, AllKernelsAgree) {
  check_op(
      {.type = "slice",
       .inputs = {{"Input", uniform({4, 3, 5}, -1, 1)}},
       .attrs = {{"axes", Numbers{0, 2}}, {"starts", Numbers{1, -3}}, {"ends", Numbers{3, -1}}}});
  check_op({.type = "slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)}},
            .attrs = {{"axes", Numbers{0, 1}},
                      {"starts", Numbers{1, 2}},
                      {"ends", Numbers{2, 3}},
                      {"decrease_axis", Numbers{0, 1}}}});
  check_op({.type = "strided_slice",
            .inputs = {{"Input", uniform({6, 3, 5}, -1, 1)}},
            .attrs = {{"axes", Numbers{0, 2}},
                      {"starts", Numbers{5, 0}},
                      {"ends", Numbers{0, 5}},
                      {"strides", Numbers{-2, 2}}}});
}

TEST(Slice, RefusesToGoTheWrongWay) {
  EXPECT_REFUSED(slice(full({10}, 0), {0}, {5}, {3}),
                 "a slice with stride 1 cannot go from 5 to 3 along an axis of extent 10");
  EXPECT_REFUSED(slice(full({10}, 0), {0, 1}, {5}, {6}),
                 "slice of 2 axes needs as many starts, ends and strides, but has 1, 1 and 2");
}

// A file may hold a gradient whose extents are known before the numbers of its op are.
TEST(Slice, GradientWaitsForNumbersFromData) {
  check_op({.type = "slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)},
                       {"StartsTensor", ints({1}, i32)},
                       {"EndsTensorList", {ints({3}, i32)}}},
            .attrs = {{"axes", Numbers{0}}, {"starts", Numbers{-1}}, {"ends", Numbers{-1}}},
            .grad_inputs = {"Input"}});
  check_op({.type = "strided_slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)}, {"StridesTensor", ints({2}, i32)}},
            .attrs = {{"axes", Numbers{0}}, {"starts", Numbers{0}}, {"ends", Numbers{4}}},
            .grad_inputs = {"Input"}});
}

}  // namespace
}  // namespace flotilla
