#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Inputs row(const std::vector<Shape>& shapes) {
  std::vector<Tensor> x;
  for (const Shape& shape : shapes) x.push_back(uniform(shape, -1, 1, x.size() + 1));
  return {{"X", x}};
}

TEST(MultiDot, KnownValues) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), v = tensor({1, 1});
  const auto multi_dot = [](const std::vector<Tensor>& x) {
    return run_op("multi_dot", {{"X", x}}).at("Out");
  };
  EXPECT_THAT(multi_dot({a, a}), near(tensor({{7, 10}, {15, 22}}), 1e-6));
  EXPECT_THAT(multi_dot({v, a, a}), near(tensor({22, 32}), 1e-6));
  EXPECT_THAT(multi_dot({a, a, v}), near(tensor({17, 37}), 1e-6));
  EXPECT_THAT(multi_dot({v, a, v}), near(tensor({10}), 1e-6));
}

TEST(MultiDot, AllKernelsAgree) {
  check_op({.type = "multi_dot", .inputs = row({{4, 1}, {1, 4}, {4, 2}, {2, 3}})});
  check_op({.type = "multi_dot", .inputs = row({{3}, {3, 4}, {4}})});
  check_op({.type = "multi_dot", .inputs = row({{2, 3}, {3, 2}})});
}

TEST(MultiDot, Refusals) {
  EXPECT_REFUSED(build_op("multi_dot", row({{2, 3}})),
                 "multi_dot multiplies two matrices or more, but X holds 1");
  EXPECT_REFUSED(build_op("multi_dot", row({{2, 3}, {2, 3}})),
                 "X[0] of shape [2, 3] cannot be multiplied with X[1] of shape [2, 3]");
  EXPECT_REFUSED(build_op("multi_dot", row({{2, 3}, {3}, {3, 2}})),
                 "multi_dot multiplies matrices, and vectors at both ends, but X[1] has shape [3]");
}

}  // namespace
}  // namespace flotilla
