#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(PNorm, KnownValues) {
  const Tensor x = tensor({3, -4, 0});
  const auto norm = [&](double p) {
    return run_op("p_norm", {{"X", x}}, {{"porder", static_cast<float>(p)}}).at("Out");
  };
  EXPECT_THAT(norm(2), near({5}, 1e-6));
  EXPECT_THAT(norm(1), near({7}, 1e-6));
  EXPECT_THAT(norm(0), near({2}, 1e-6));
  EXPECT_THAT(norm(3), near({std::cbrt(91)}, 1e-5));
  EXPECT_THAT(norm(INFINITY), near({4}, 1e-6));
  EXPECT_THAT(norm(-INFINITY), near({0}, 1e-6));
}

TEST(PNorm, AllKernelsAgree) {
  for (const float p : {2.0f, 1.0f, 3.0f, 2.5f}) {
    check_op({.type = "p_norm",
              .inputs = {{"X", uniform({3, 4, 2}, 0.5, 2)}},
              .attrs = {{"porder", p}, {"axis", 1}}});
  }
  check_op({.type = "p_norm",
            .inputs = {{"X", uniform({3, 4}, -2, 2)}},
            .attrs = {{"asvector", true}, {"keepdim", true}}});
}

}  // namespace
}  // namespace flotilla
