// flotilla/ops/math/kron_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Kron, KnownValues) {
  EXPECT_THAT(run_op("kron", {{"X", tensor({{1, 2}})}, {"Y", tensor({{1, 0}, {3, 4}})}}).at("Out"),
              near(tensor({{1, 0, 2, 0}, {3, 4, 6, 8}}), 0));
  EXPECT_THAT(run_op("kron", {{"X", tensor({2, 3})}, {"Y", tensor({1, 5}, {2, 1})}}).at("Out"),
              near(tensor({{2, 3}, {10, 15}}), 0));
}

TEST(Kron, AllKernelsAgree) {
  check_op({.type = "kron",
            .inputs = {{"X", uniform({2, 3}, -3, 3)}, {"Y", uniform({2, 2}, -3, 3, 2)}}});
  check_op({.type = "kron",
            .inputs = {{"X", uniform({3}, -3, 3)}, {"Y", uniform({2, 1, 2}, -3, 3, 2)}}});
}

TEST(Kron, Refusals) {
  EXPECT_REFUSED(build_op("kron", {{"X", tensor({1, 2})}, {"Y", ints({1, 2})}}),
                 "X and Y must have one dtype, but hold f32 and i64");
}

}  // namespace
}  // namespace flotilla
