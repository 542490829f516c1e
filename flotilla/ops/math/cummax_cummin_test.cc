// flotilla/ops/math/cummax_cummin_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Cummax, KnownValues) {
  const Inputs inputs = {{"x", tensor({{1, 3, 2, 3}, {-1, -2, 0, -5}})}};
  const OpResult largest = run_op("cummax", inputs), smallest = run_op("cummin", inputs);
  EXPECT_THAT(largest.at("out"), equal_to(tensor({{1, 3, 3, 3}, {-1, -1, 0, 0}})));
  EXPECT_THAT(largest.at("indices"), equal_to(ints({0, 1, 1, 3, 0, 0, 2, 2}, {2, 4})));
  EXPECT_THAT(smallest.at("out"), equal_to(tensor({{1, 1, 1, 1}, {-1, -2, -2, -5}})));
  EXPECT_THAT(smallest.at("indices"), equal_to(ints({0, 0, 0, 0, 0, 1, 1, 3}, {2, 4})));
  const Attrs down = {{"axis", 0}, {"dtype", to_paddle(i32)}};
  EXPECT_THAT(run_op("cummin", inputs, down).at("indices"),
              equal_to(ints({0, 0, 0, 0, 1, 1, 1, 1}, {2, 4}, i32)));
}

TEST(Cummax, NotANumberStays) {
  for (const char* type : {"cummax", "cummin"}) {
    const OpResult found = run_op(type, {{"x", tensor({1, NAN, 5, NAN, 0})}});
    EXPECT_TRUE(std::isnan(values_of(found.at("out"))[4]));
    EXPECT_THAT(found.at("indices"), equal_to(ints({0, 1, 1, 3, 3})));
  }
}

TEST(Cummax, AllKernelsAgree) {
  for (const char* type : {"cummax", "cummin"}) {
    for (const int axis : {0, 1, -1}) {
      check_op({.type = type,
                .inputs = {{"x", uniform({3, 4, 2}, -3, 3)}},
                .attrs = {{"axis", axis}},
                .grad_outputs = {"out"}});
    }
  }
}

TEST(Cummax, Refusals) {
  EXPECT_REFUSED(build_op("cummax", {{"x", tensor({1, 2})}}, {{"axis", 1}}),
                 "axis must lie in [-1, 1) because x has shape [2], but axis is 1");
  EXPECT_REFUSED(build_op("cummin", {{"x", tensor({1, 2})}}, {{"dtype", to_paddle(f32)}}),
                 "indices are int32 or int64, but dtype names f32");
}

}  // namespace
}  // namespace flotilla
