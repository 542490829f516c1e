#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Renorm, KnownValues) {
  const Inputs x = {{"X", tensor({{1, 2, 3}, {0, 0, 0}, {3, 4, 0}})}};
  const OpResult rows = run_op("renorm", x, {{"p", 2.0f}, {"axis", 0}, {"max_norm", 2.0f}});
  EXPECT_THAT(rows.at("Out"), near({0.5345225, 1.069045, 1.6035674, 0, 0, 0, 1.2, 1.6, 0}, 1e-6));
  const OpResult columns = run_op("renorm", x, {{"p", 1.0f}, {"axis", -1}, {"max_norm", 2.0f}});
  EXPECT_THAT(columns.at("Out"), near({0.5, 2. / 3, 2, 0, 0, 0, 1.5, 4. / 3, 0}, 1e-6));
}

TEST(Renorm, AllKernelsAgree) {
  for (const float p : {1.0f, 2.0f, 3.0f}) {
    // Some of the slices are longer than the bound, and none is about as long.
    check_op({.type = "renorm",
              .inputs = {{"X", uniform({2, 3, 4}, 0.3, 1)}},
              .attrs = {{"p", p}, {"axis", 1}, {"max_norm", 0.5f}}});
    check_op({.type = "renorm",
              .inputs = {{"X", uniform({3, 4}, -1, -0.3)}},
              .attrs = {{"p", p}, {"axis", -2}, {"max_norm", 9.0f}}});
  }
}

TEST(Renorm, Refusals) {
  const Inputs x = {{"X", tensor({{1, 2}})}};
  EXPECT_REFUSED(build_op("renorm", x, {{"p", 2.0f}, {"axis", 2}}),
                 "axis must lie in [-2, 2) because X has shape [1, 2], but is 2");
  EXPECT_REFUSED(build_op("renorm", x), "p must be greater than 0, but is 0");
  EXPECT_REFUSED(build_op("renorm", {{"X", tensor({1, 2})}}, {{"p", 2.0f}}),
                 "renorm shortens slices, but X has shape [2]");
}

}  // namespace
}  // namespace flotilla
