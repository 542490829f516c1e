#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

TEST(Roll, KnownValues) {
  EXPECT_THAT(run_op("roll", {{"X", counting({2, 3})}}, {{"shifts", Longs{1}}}).at("Out"),
              equal_to(tensor({{5, 0, 1}, {2, 3, 4}})));
  EXPECT_THAT(
      run_op("roll", {{"X", counting({2, 3})}}, {{"shifts", Longs{1, -1}}, {"axis", Longs{0, 1}}})
          .at("Out"),
      equal_to(tensor({{4, 5, 3}, {1, 2, 0}})));
  EXPECT_THAT(run_op("flip", {{"X", counting({2, 3})}}, {{"axis", Numbers{-1}}}).at("Out"),
              equal_to(tensor({{2, 1, 0}, {5, 4, 3}})));
  EXPECT_THAT(run_op("flip", {{"X", counting({2, 3})}}, {{"dims", Numbers{0, 1}}}).at("Out"),
              equal_to(tensor({{5, 4, 3}, {2, 1, 0}})));
}

TEST(Roll, AllKernelsAgree) {
  check_op(
      {.type = "roll", .inputs = {{"X", uniform({3, 4}, -1, 1)}}, .attrs = {{"shifts", Longs{5}}}});
  check_op({.type = "roll",
            .inputs = {{"X", uniform({3, 4}, -1, 1)}},
            .attrs = {{"shifts", Longs{-2, 1}}, {"axis", Longs{1, 0}}}});
  check_op(
      {.type = "flip", .inputs = {{"X", uniform({3, 4}, -1, 1)}}, .attrs = {{"axis", Numbers{0}}}});
  check_op({.type = "reverse",
            .inputs = {{"X", uniform({3, 4}, -1, 1)}},
            .attrs = {{"axis", Numbers{0, 1}}}});
}

}  // namespace
}  // namespace flotilla
