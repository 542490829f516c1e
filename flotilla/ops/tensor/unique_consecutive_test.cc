// flotilla/ops/tensor/unique_consecutive_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

OpResult items(const Tensor& x, const Attrs& attrs = {}) {
  return run_op("unique_consecutive", {{"X", x}}, attrs,
                {.outputs = {{"Out", 1}, {"Index", 1}, {"Counts", 1}}});
}

TEST(UniqueConsecutive, KnownValues) {
  const OpResult of_list = items(tensor({1, 1, 2, 2, 3, 1, 1, 2}), {{"dtype", to_paddle(i64)}});
  EXPECT_THAT(of_list.at("Out"), equal_to({1, 2, 3, 1, 2}));
  EXPECT_THAT(of_list.at("Index"), equal_to(ints({0, 0, 1, 1, 2, 3, 3, 4})));
  EXPECT_THAT(of_list.at("Counts"), equal_to(ints({2, 2, 1, 2, 1})));
  EXPECT_THAT(items(ints({5, 5, 5, 4}, {2, 2}), {{"dtype", to_paddle(i64)}}).at("Out"),
              equal_to(ints({5, 4})));
}

TEST(UniqueConsecutive, SlicesAlongAnAxis) {
  const Attrs rows = {{"axis", std::vector<int32_t>{0}}, {"dtype", to_paddle(i32)}};
  const OpResult found = items(tensor({{1, 2}, {1, 2}, {0, 2}, {1, 2}}), rows);
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{1, 2}, {0, 2}, {1, 2}})));
  EXPECT_THAT(found.at("Index"), equal_to(ints({0, 0, 1, 2}, i32)));
  EXPECT_THAT(found.at("Counts"), equal_to(ints({2, 1, 1}, i32)));
}

TEST(UniqueConsecutive, OutputsThatNobodyAsksForAreLeftOut) {
  EXPECT_THAT(
      run_op("unique_consecutive", {{"X", ints({3, 3, 1})}}, {{"dtype", to_paddle(i64)}}).at("Out"),
      equal_to(ints({3, 1})));
}

}  // namespace
}  // namespace flotilla
