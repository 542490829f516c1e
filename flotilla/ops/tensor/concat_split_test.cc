#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

TEST(Concat, KnownValues) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({5, 6}, Shape{2, 1});
  EXPECT_THAT(run_op("concat", {{"X", {a, b}}}, {{"axis", 1}}).at("Out"),
              equal_to(tensor({{1, 2, 5}, {3, 4, 6}})));
  EXPECT_THAT(run_op("concat", {{"X", {a, a}}}).at("Out"), has_shape({4, 2}));
}

TEST(Concat, AllKernelsAgreeOnEveryAxis) {
  for (const int axis : {0, 1, 2, -1}) {
    Shape second = {2, 3, 4};
    second[axis < 0 ? axis + 3 : axis] = 5;
    check_op({.type = "concat",
              .inputs = {{"X", {uniform({2, 3, 4}, -1, 1), uniform(second, -1, 1, 2)}}},
              .attrs = {{"axis", axis}}});
  }
}

TEST(Concat, RefusesTensorsThatDiffer) {
  EXPECT_REFUSED(build_op("concat", {{"X", {full({2, 3}, 0), full({3, 3}, 0)}}}, {{"axis", 1}}),
                 "the tensors to concat must agree but for axis 1, but X[0] is [2, 3] and X[1] is "
                 "[3, 3]");
  EXPECT_REFUSED(
      build_op("concat", {{"X", {full({2}, 0), ints({1})}}}),
      "the tensors to concat must have one dtype, but X[0] holds f32 and X[1] holds i64");
}

TEST(Split, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const OpResult parts = run_op("split", {{"X", x}}, {{"axis", 1}, {"sections", Numbers{1, -1}}},
                                {.outputs = {{"Out", 2}}});
  EXPECT_THAT(parts.at("Out", 0), equal_to(tensor({1, 4}, Shape{2, 1})));
  EXPECT_THAT(parts.at("Out", 1), equal_to(tensor({{2, 3}, {5, 6}})));
}

TEST(Split, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    check_op({.type = "split",
              .inputs = {{"X", uniform({4, 6, 2}, -1, 1)}},
              .attrs = {{"axis", axis}, {"num", 2}},
              .outputs = {{"Out", 2}}});
  }
  // A piece that is not used has no gradient; its place gets zeros.
  check_op({.type = "unstack",
            .inputs = {{"X", uniform({3, 2}, -1, 1)}},
            .attrs = {{"axis", 0}, {"num", 3}},
            .outputs = {{"Y", 3}}});
  check_op({.type = "unbind",
            .inputs = {{"X", uniform({3, 2}, -1, 1)}},
            .attrs = {{"axis", 1}},
            .outputs = {{"Out", 2}}});
}

TEST(Split, RefusesWhatDoesNotAddUp) {
  EXPECT_REFUSED(build_op("split", {{"X", full({2, 7}, 0)}}, {{"axis", 1}, {"num", 2}},
                          {.outputs = {{"Out", 2}}}),
                 "an axis of extent 7 cannot be split into 2 equal pieces");
  EXPECT_REFUSED(build_op("split", {{"X", full({2, 7}, 0)}},
                          {{"axis", 1}, {"sections", Numbers{3, 5}}}, {.outputs = {{"Out", 2}}}),
                 "sections [3, 5] do not add up to 7, the extent of the axis");
}

}  // namespace
}  // namespace flotilla
