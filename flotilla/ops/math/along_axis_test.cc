// along_axis.cc, norms.cc, addmm.cc, increment.cc

#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Cumsum, KnownValues) {
  const Tensor x = tensor({{1, 2, 2}, {3, 3, 1}});
  const auto cumsum = [&](Attrs attrs) { return run_op("cumsum", {{"X", x}}, attrs).at("Out"); };
  EXPECT_THAT(cumsum({}), equal_to(tensor({{1, 3, 5}, {3, 6, 7}})));
  EXPECT_THAT(cumsum({{"axis", 1}, {"exclusive", true}, {"reverse", true}}),
              equal_to(tensor({{4, 2, 0}, {4, 1, 0}})));
  EXPECT_THAT(cumsum({{"flatten", true}}), equal_to(tensor({1, 3, 5, 8, 11, 12})));
}

TEST(Cumsum, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        check_op({.type = "cumsum",
                  .inputs = {{"X", uniform({3, 4, 2}, -2, 2)}},
                  .attrs = {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}});
      }
    }
  }
  check_op(
      {.type = "cumsum", .inputs = {{"X", uniform({3, 4}, -2, 2)}}, .attrs = {{"flatten", true}}});
}

TEST(ArgMax, KnownValues) {
  const Tensor x = tensor({{1, 3, 3}, {4, 0, 4}});
  const auto arg = [&](const std::string& type, Attrs attrs) {
    return run_op(type, {{"X", x}}, attrs).at("Out");
  };
  EXPECT_THAT(arg("arg_max", {{"axis", int64_t{1}}}), equal_to(ints({1, 0})));
  EXPECT_THAT(arg("arg_min", {{"axis", int64_t{0}}}), equal_to(ints({0, 1, 0})));
  EXPECT_THAT(arg("arg_max", {{"axis", int64_t{1}}, {"keepdims", true}, {"dtype", to_paddle(i32)}}),
              equal_to(ints({1, 0}, Shape{2, 1}, i32)));
  EXPECT_THAT(arg("arg_max", {{"flatten", true}}), equal_to(ints({3})));
  EXPECT_THAT(run_op("arg_max", {{"X", tensor({1, NAN, 3})}}, {}).at("Out"), equal_to(ints({2})));
  EXPECT_REFUSED(arg("arg_max", {{"dtype", to_paddle(f32)}}),
                 "arg_max gives int64 or int32, but dtype names f32");
}

TEST(PNorm, KnownValues) {
  const Tensor x = tensor({3, -4, 0});
  const auto norm = [&](double p) {
    return run_op("p_norm", {{"X", x}}, {{"porder", static_cast<float>(p)}}).at("Out");
  };
  EXPECT_THAT(norm(2), near({5}, 1e-6));
  EXPECT_THAT(norm(1), near({7}, 1e-6));
  EXPECT_THAT(norm(0), near({2}, 1e-6));
  EXPECT_THAT(norm(3), near({std::cbrt(91)}, 1e-5));
  EXPECT_THAT(norm(INFINITY), near({4}, 1e-6));
  EXPECT_THAT(norm(-INFINITY), near({0}, 1e-6));
}

TEST(PNorm, AllKernelsAgree) {
  for (const float p : {2.0f, 1.0f, 3.0f, 2.5f}) {
    check_op({.type = "p_norm",
              .inputs = {{"X", uniform({3, 4, 2}, 0.5, 2)}},
              .attrs = {{"porder", p}, {"axis", 1}}});
  }
  check_op({.type = "p_norm",
            .inputs = {{"X", uniform({3, 4}, -2, 2)}},
            .attrs = {{"asvector", true}, {"keepdim", true}}});
}

TEST(SquaredL2Norm, AllKernelsAgree) {
  check_op({.type = "squared_l2_norm", .inputs = {{"X", uniform({2, 18, 2, 2}, -1, 1)}}});
  EXPECT_THAT(run_op("squared_l2_norm", {{"X", full({20000}, 2)}}).at("Out"), near({80000}, 1e-2));
}

TEST(ClipByNorm, ShortensOnlyWhatIsTooLong) {
  const auto clip = [](float most) {
    return run_op("clip_by_norm", {{"X", tensor({3, 4})}}, {{"max_norm", most}}).at("Out");
  };
  EXPECT_THAT(clip(10), equal_to({3, 4}));
  EXPECT_THAT(clip(1), near({0.6, 0.8}, 1e-6));
  EXPECT_THAT(run_op("clip_by_norm", {{"X", tensor({0, 0})}}, {{"max_norm", 1.0f}}).at("Out"),
              equal_to({0, 0}));
}

TEST(Dot, AllKernelsAgree) {
  check_op({.type = "dot", .inputs = {{"X", uniform({5}, -1, 1)}, {"Y", uniform({5}, -1, 1, 2)}}});
  check_op(
      {.type = "dot", .inputs = {{"X", uniform({3, 5}, -1, 1)}, {"Y", uniform({3, 5}, -1, 1, 2)}}});
  EXPECT_THAT(
      run_op("dot", {{"X", tensor({{1, 2}, {3, 4}})}, {"Y", tensor({{1, 1}, {2, 1}})}}).at("Out"),
      equal_to(tensor({3, 10})));
  EXPECT_REFUSED(build_op("dot", {{"X", tensor({1, 2})}, {"Y", tensor({1})}}),
                 "X and Y of dot must be alike, but are f32[2] and f32[1]");
}

TEST(Addmm, AllKernelsAgree) {
  for (const Shape& input : {Shape{3, 2}, Shape{1, 2}, Shape{3, 1}, Shape{2}, Shape{1}}) {
    check_op({.type = "addmm",
              .inputs = {{"Input", uniform(input, -1, 1)},
                         {"X", uniform({3, 4}, -1, 1, 2)},
                         {"Y", uniform({4, 2}, -1, 1, 3)}},
              .attrs = {{"Alpha", 2.0f}, {"Beta", 0.5f}}});
  }
  EXPECT_REFUSED(
      build_op("addmm", {{"Input", tensor({1})}, {"X", full({3, 4}, 0)}, {"Y", full({3, 2}, 0)}}),
      "addmm multiplies an m x k with a k x n matrix, but X is [3, 4] and Y is [3, 2]");
}

TEST(Increment, CountsInPlace) {
  EXPECT_THAT(run_op("increment", {{"X", ints({1})}}, {{"step", 2.0f}}).at("Out"),
              equal_to(ints({3})));
  EXPECT_THAT(run_op("increment", {{"X", tensor({1})}}, {}, {.in_place = {{"X", "Out"}}}).at("Out"),
              equal_to({2}));
}

}  // namespace
}  // namespace flotilla
