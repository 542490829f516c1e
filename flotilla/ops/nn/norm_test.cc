#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(L2Norm, AllKernelsAgree) {
  const auto found = run_op("norm", {{"X", tensor({3, 4})}});
  EXPECT_THAT(found.at("Out"), near({0.6, 0.8}, 1e-6));
  EXPECT_THAT(found.at("Norm"), near({5}, 1e-6));
  for (const int axis : {0, 1, -1}) {
    check_op({.type = "norm",
              .inputs = {{"X", uniform({3, 4, 2}, 0.2, 1)}},
              .attrs = {{"axis", axis}, {"epsilon", 1e-3f}},
              .grad_outputs = {"Out"}});
  }
}

}  // namespace
}  // namespace flotilla
