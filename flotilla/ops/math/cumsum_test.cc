#include "flotilla/testing/check_op.h"

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

}  // namespace
}  // namespace flotilla
