// flotilla/ops/math/cumprod_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Tensor cumprod(const Tensor& x, int dim) {
  return run_op("cumprod", {{"X", x}}, {{"dim", dim}}).at("Out");
}

TEST(Cumprod, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 0, 6}});
  EXPECT_THAT(cumprod(x, 1), equal_to(tensor({{1, 2, 6}, {4, 0, 0}})));
  EXPECT_THAT(cumprod(x, -2), equal_to(tensor({{1, 2, 3}, {4, 0, 18}})));
  EXPECT_THAT(cumprod(ints({2, -3, 4}), 0), equal_to(ints({2, -6, -24})));
  EXPECT_THAT(cumprod(tensor({7}, Shape{}), 0), equal_to({7}));
}

TEST(Cumprod, AllKernelsAgree) {
  for (const int dim : {0, 1, 2, -1}) {
    check_op(
        {.type = "cumprod", .inputs = {{"X", uniform({3, 4, 2}, -2, 2)}}, .attrs = {{"dim", dim}}});
  }
}

TEST(Cumprod, GradientsPassZeros) {
  // None, one at each place, two, and nothing else.
  const Tensor x = tensor({{2, 3, -4, 5},
                           {0, 3, -4, 5},
                           {2, 0, -4, 5},
                           {2, 3, -4, 0},
                           {2, 0, -4, 0},
                           {0, 0, -4, 5},
                           {0, 0, 0, 0}});
  check_op({.type = "cumprod", .inputs = {{"X", x}}, .attrs = {{"dim", 1}}});
}

TEST(Cumprod, Refusals) {
  EXPECT_REFUSED(build_op("cumprod", {{"X", full({2, 3}, 1)}}, {{"dim", 2}}),
                 "axis must lie in [-2, 2) because X has shape [2, 3], but axis is 2");
}

}  // namespace
}  // namespace flotilla
