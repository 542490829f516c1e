#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Tensor partial(const std::string& type, int start, int length) {
  const Inputs inputs = {{"X", {tensor({{0, 1, 2}, {3, 4, 5}}), tensor({{6, 7, 8}, {9, 10, 11}})}}};
  return run_op(type, inputs, {{"start_index", start}, {"length", length}}).at("Out");
}

TEST(Partial, KnownValues) {
  EXPECT_THAT(partial("partial_concat", 1, 1), equal_to(tensor({{1, 7}, {4, 10}})));
  EXPECT_THAT(partial("partial_concat", -2, 2), equal_to(tensor({{1, 2, 7, 8}, {4, 5, 10, 11}})));
  EXPECT_THAT(partial("partial_sum", -2, 1), equal_to(tensor({8, 14}, Shape{2, 1})));
  EXPECT_THAT(partial("partial_sum", 0, -1), equal_to(tensor({{6, 8, 10}, {12, 14, 16}})));
}

TEST(Partial, AllKernelsAgree) {
  for (const std::string type : {"partial_concat", "partial_sum"}) {
    check_op({.type = type,
              .inputs = {{"X", {uniform({2, 4}, -1, 1), uniform({2, 4}, -1, 1, 2)}}},
              .attrs = {{"start_index", 1}, {"length", 2}}});
  }
}

TEST(Partial, Refusals) {
  EXPECT_REFUSED(partial("partial_sum", 2, 2),
                 "2 columns from 2 on are no part of X, which has shape [2, 3]");
  EXPECT_REFUSED(build_op("partial_sum", {{"X", {tensor({{1, 2}}), tensor({1}, Shape{1, 1})}}}),
                 "the inputs of partial_sum must be matrices that are alike, but X[0] is f32[1, 2] "
                 "and X[1] is f32[1, 1]");
}

}  // namespace
}  // namespace flotilla
