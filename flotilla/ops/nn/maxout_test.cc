#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Maxout, KnownValues) {
  const Tensor x = tensor({1, 5, 2, 2, 3, 0, 4, 1}, {1, 4, 1, 2});
  EXPECT_THAT(run_op("maxout", {{"X", x}}, {{"groups", 2}}).at("Out"),
              near(tensor({2, 5, 4, 1}, {1, 2, 1, 2}), 0));
  const Tensor last = tensor({1, 2, 7, 3}, {1, 1, 1, 4});
  EXPECT_THAT(run_op("maxout", {{"X", last}}, {{"groups", 2}, {"axis", -1}}).at("Out"),
              near(tensor({2, 7}, {1, 1, 1, 2}), 0));
  // Equal ones: the first gets the gradient.
  EXPECT_THAT(run_op("maxout_grad",
                     {{"X", tensor({3, 3, 1, 2}, {1, 4, 1, 1})},
                      {"Out@GRAD", tensor({5, 6}, {1, 2, 1, 1})}},
                     {{"groups", 2}})
                  .at("X@GRAD"),
              near(tensor({5, 0, 0, 6}, {1, 4, 1, 1}), 0));
}

TEST(Maxout, AllKernelsAgree) {
  check_op({.type = "maxout",
            .inputs = {{"X", uniform({2, 6, 2, 2}, -4, 4)}},
            .attrs = {{"groups", 3}}});
  check_op({.type = "maxout",
            .inputs = {{"X", uniform({2, 2, 2, 6}, -4, 4)}},
            .attrs = {{"groups", 2}, {"axis", 3}}});
}

TEST(Maxout, Refusals) {
  const Tensor x = uniform({2, 6, 1, 1}, -1, 1);
  EXPECT_REFUSED(build_op("maxout", {{"X", x}}, {{"groups", 1}}),
                 "groups must be above 1, but is 1");
  EXPECT_REFUSED(build_op("maxout", {{"X", x}}, {{"groups", 4}}),
                 "6 channels of X, which has shape [2, 6, 1, 1], cannot be cut into groups of 4");
  EXPECT_REFUSED(build_op("maxout", {{"X", x}}, {{"groups", 2}, {"axis", 4}}),
                 "axis must lie in [-4, 4) because X has shape [2, 6, 1, 1], but axis is 4");
  EXPECT_REFUSED(build_op("maxout", {{"X", uniform({2, 6}, -1, 1)}}, {{"groups", 2}}),
                 "X must have four axes, of which the first holds no channels, but has shape "
                 "[2, 6] and axis is 1");
}

}  // namespace
}  // namespace flotilla
