#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Longs = std::vector<int64_t>;

const Tensor kX = tensor({{1, 2, 3}, {4, 5, 6}});

Attrs ranges(Longs axes, Longs starts, Longs ends, Longs steps) {
  return {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}};
}

TEST(SetValue, KnownValues) {
  Attrs attrs = ranges({1}, {0}, {3}, {2});
  attrs["shape"] = Longs{1};
  attrs["values"] = std::vector<Scalar>{{int64_t{9}}};
  EXPECT_THAT(run_op("set_value", {{"Input", kX}}, attrs).at("Out"),
              equal_to(tensor({{9, 2, 9}, {9, 5, 9}})));
  attrs["values"] = std::vector<Scalar>{};
  attrs["fp32_values"] = std::vector<float>{7};
  EXPECT_THAT(run_op("set_value", {{"Input", kX}}, attrs).at("Out"),
              equal_to(tensor({{7, 2, 7}, {7, 5, 7}})));
}

TEST(SetValue, RepeatsTheValue) {
  const auto set = [](const Tensor& value, Attrs attrs) {
    return run_op("set_value", {{"Input", kX}, {"ValueTensor", value}}, attrs).at("Out");
  };
  EXPECT_THAT(set(tensor({7, 8, 9}), ranges({0}, {2147483647}, {-1}, {-1})),
              equal_to(tensor({{7, 8, 9}, {7, 8, 9}})));
  EXPECT_THAT(set(tensor({7, 8}, Shape{2, 1}), ranges({1}, {1}, {3}, {1})),
              equal_to(tensor({{1, 7, 7}, {4, 8, 8}})));
  EXPECT_THAT(set(tensor({{3, 2, 1}, {6, 5, 4}}), ranges({1}, {2}, {-1}, {-1})),
              equal_to(tensor({{1, 2, 3}, {4, 5, 6}})));
  Attrs column = ranges({1}, {1}, {2}, {1});
  column["decrease_axes"] = Longs{1};
  EXPECT_THAT(set(tensor({7, 8}), column), equal_to(tensor({{1, 7, 3}, {4, 8, 6}})));
  Attrs widened = ranges({0}, {0}, {1}, {1});
  widened["none_axes"] = Longs{0};
  EXPECT_THAT(set(tensor({7, 8, 9}, Shape{1, 1, 3}), widened),
              equal_to(tensor({{7, 8, 9}, {4, 5, 6}})));
  EXPECT_THAT(set(tensor({7}), ranges({0}, {1}, {1}, {1})), equal_to(kX));
}

TEST(SetValue, AllKernelsAgree) {
  const Tensor x = uniform({4, 3, 5}, -1, 1);
  check_op({.type = "set_value",
            .inputs = {{"Input", x}, {"ValueTensor", uniform({2, 1, 1}, -1, 1)}},
            .attrs = ranges({0, 2}, {3, 1}, {0, 4}, {-2, 1})});
  Attrs row = ranges({0}, {-1}, {4}, {1});
  row["decrease_axes"] = Longs{0};
  check_op({.type = "set_value",
            .inputs = {{"Input", x}, {"ValueTensor", uniform({3, 5}, -1, 1)}},
            .attrs = row});
  check_op({.type = "set_value",
            .inputs = {{"Input", x},
                       {"ValueTensor", uniform({1}, -1, 1)},
                       {"StartsTensorList", {ints({1}, i32)}},
                       {"EndsTensorList", {ints({3}, i32)}}},
            .attrs = ranges({1}, {}, {}, {1}),
            .grad_inputs = {"Input", "ValueTensor"}});
}

TEST(SetValue, Refusals) {
  Attrs outside = ranges({1}, {3}, {4}, {1});
  outside["decrease_axes"] = Longs{1};
  EXPECT_REFUSED(run_op("set_value", {{"Input", kX}, {"ValueTensor", tensor({7})}}, outside),
                 "the element that was named along axis 1 is none of shape [2, 3]");
  EXPECT_REFUSED(run_op("set_value", {{"Input", kX}, {"ValueTensor", tensor({7, 8})}},
                        ranges({1}, {0}, {3}, {1})),
                 "a value of shape [2] cannot be repeated to the extents 2x3 that it is set to");
  EXPECT_REFUSED(run_op("set_value", {{"Input", kX}}, ranges({1}, {0}, {3}, {1})),
                 "set_value needs a ValueTensor, or as many values as shape [] has elements, but "
                 "has 0");
  EXPECT_REFUSED(run_op("set_value", {{"Input", kX}, {"ValueTensor", tensor({7})}},
                        ranges({1}, {0, 1}, {3}, {1})),
                 "set_value of 1 axes needs as many starts, but has 2");
}

}  // namespace
}  // namespace flotilla
