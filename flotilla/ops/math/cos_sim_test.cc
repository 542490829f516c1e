// flotilla/ops/math/cos_sim_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(CosSim, KnownValues) {
  const auto found =
      run_op("cos_sim", {{"X", tensor({{3, 4}, {0, 0}})}, {"Y", tensor({{1, 1}, {2, 1}})}});
  EXPECT_THAT(found.at("Out"), near(tensor({0.9899495, 0}, {2, 1}), 1e-6));
  EXPECT_THAT(found.at("XNorm"), near(tensor({5, 1e-4}, {2, 1}), 1e-6));
  EXPECT_THAT(found.at("YNorm"), near(tensor({1.4142136, 2.236068}, {2, 1}), 1e-6));
}

TEST(CosSim, AllKernelsAgree) {
  const Tensor x = uniform({4, 3}, -2, 2);
  check_op({.type = "cos_sim",
            .inputs = {{"X", x}, {"Y", uniform({4, 3}, -2, 2, 2)}},
            .grad_outputs = {"Out"}});
  check_op({.type = "cos_sim",
            .inputs = {{"X", x}, {"Y", uniform({1, 3}, -2, 2, 2)}},
            .grad_outputs = {"Out"}});
  check_op({.type = "cos_sim",
            .inputs = {{"X", uniform({2, 2, 3}, -2, 2)}, {"Y", uniform({2, 2, 3}, -2, 2, 2)}},
            .grad_outputs = {"Out"}});
}

TEST(CosSim, Refusals) {
  EXPECT_REFUSED(
      build_op("cos_sim", {{"X", uniform({4, 3}, -1, 1)}, {"Y", uniform({2, 3}, -1, 1)}}),
      "Y must have the shape of X, or one row of it, but they are [2, 3] and [4, 3]");
  EXPECT_REFUSED(build_op("cos_sim", {{"X", uniform({4}, -1, 1)}, {"Y", uniform({4}, -1, 1)}}),
                 "X and Y must have one rank of 2 or more, but have shapes [4] and [4]");
}

}  // namespace
}  // namespace flotilla
