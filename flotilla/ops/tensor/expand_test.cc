#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

TEST(Expand, KnownValues) {
  const Tensor x = tensor({0, 1}, Shape{2, 1});
  EXPECT_THAT(run_op("expand_v2", {{"X", x}}, {{"shape", Numbers{2, -1, 3}}}).at("Out"),
              equal_to(tensor({0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}, Shape{2, 2, 3})));
  EXPECT_THAT(run_op("tile", {{"X", tensor({0, 1})}}, {{"repeat_times", Numbers{2, 2}}}).at("Out"),
              equal_to(tensor({{0, 1, 0, 1}, {0, 1, 0, 1}})));
  EXPECT_THAT(
      run_op("tile", {{"X", tensor({{0, 1}, {2, 3}})}}, {{"repeat_times", Numbers{2}}}).at("Out"),
      equal_to(tensor({{0, 1, 0, 1}, {2, 3, 2, 3}})));
  EXPECT_THAT(run_op("expand", {{"X", x}}, {{"expand_times", Numbers{1, 2}}}).at("Out"),
              equal_to(tensor({{0, 0}, {1, 1}})));
  EXPECT_THAT(run_op("expand_as_v2", {{"X", x}, {"Y", full({3, 2, 2}, 0)}}).at("Out"),
              has_shape({3, 2, 2}));
  EXPECT_THAT(run_op("expand_as", {{"X", x}, {"target_tensor", full({4, 3}, 0)}}).at("Out"),
              equal_to(tensor({{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}})));
}

TEST(Expand, AllKernelsAgree) {
  const Tensor x = uniform({2, 1, 3}, -1, 1);
  check_op({.type = "expand_v2", .inputs = {{"X", x}}, .attrs = {{"shape", Numbers{4, 2, 5, 3}}}});
  check_op({.type = "expand_v2",
            .inputs = {{"X", uniform({1}, -1, 1)}},
            .attrs = {{"shape", Numbers{4, 3}}}});
  check_op(
      {.type = "tile", .inputs = {{"X", x}}, .attrs = {{"repeat_times", Numbers{2, 1, 3, 2}}}});
  check_op({.type = "expand", .inputs = {{"X", x}}, .attrs = {{"expand_times", Numbers{2, 3, 2}}}});
  check_op({.type = "expand_as_v2",
            .inputs = {{"X", x}},
            .attrs = {{"target_shape", Numbers{2, 4, 3}}}});
  check_op({.type = "meshgrid",
            .inputs = {{"X", {uniform({2}, -1, 1), uniform({3}, -1, 1), uniform({4}, -1, 1)}}},
            .outputs = {{"Out", 3}}});
  check_op({.type = "broadcast_tensors",
            .inputs = {{"X", {uniform({2, 1}, -1, 1), uniform({3}, -1, 1), uniform({1}, -1, 1)}}},
            .outputs = {{"Out", 3}}});
}

TEST(Expand, TensorsMeetInTheShapeOfAll) {
  const OpResult found =
      run_op("broadcast_tensors", {{"X", {tensor({1, 2}, Shape{2, 1}), tensor({3, 4})}}}, {},
             {.outputs = {{"Out", 2}}});
  EXPECT_THAT(found.at("Out", 0), equal_to(tensor({{1, 1}, {2, 2}})));
  EXPECT_THAT(found.at("Out", 1), equal_to(tensor({{3, 4}, {3, 4}})));
  EXPECT_REFUSED(
      build_op("broadcast_tensors", {{"X", {tensor({1, 2}), tensor({1, 2, 3})}}}, {},
               {.outputs = {{"Out", 2}}}),
      "X of shape [2] and Y of shape [3] do not broadcast at axis -1: 2 does not match 3");
}

TEST(Expand, RefusesAxesThatDoNotWiden) {
  EXPECT_REFUSED(build_op("expand_v2", {{"X", counting({2, 3})}}, {{"shape", Numbers{4, 3}}}),
                 "X of shape [2, 3] cannot be expanded to [4, 3]: 2 meets 4");
  EXPECT_REFUSED(build_op("expand_v2", {{"X", counting({2, 3})}}, {{"shape", Numbers{3}}}),
                 "X of shape [2, 3] cannot be expanded to the lower rank of [3]");
}

}  // namespace
}  // namespace flotilla
