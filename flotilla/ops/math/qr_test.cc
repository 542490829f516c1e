#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

OpResult of(const Tensor& x, const std::string& mode = "reduced") {
  return run_op("qr", {{"X", x}}, {{"mode", mode}});
}

Tensor product(const Tensor& x, const Tensor& y, bool transposed = false) {
  return run_op("matmul_v2", {{"X", x}, {"Y", y}}, {{"trans_x", transposed}}).at("Out");
}

TEST(Qr, KnownValues) {
  const auto made = of(tensor({{3, 1}, {4, 2}}));
  EXPECT_THAT(made.at("Q"), near(tensor({{-0.6, -0.8}, {-0.8, 0.6}}), 1e-6));
  EXPECT_THAT(made.at("R"), near(tensor({{-5, -2.2}, {0, 0.4}}), 1e-6));
  // Nothing stands below the diagonal.
  const auto kept = of(tensor({{-2, 1}, {0, 3}}));
  EXPECT_THAT(kept.at("Q"), equal_to(tensor({{1, 0}, {0, 1}})));
  EXPECT_THAT(kept.at("R"), equal_to(tensor({{-2, 1}, {0, 3}})));
}

TEST(Qr, AllShapesAndModes) {
  for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{3, 5}, Shape{2, 2, 4, 3}}) {
    const Tensor x = uniform(shape, -1, 1, 3);
    for (const char* mode : {"reduced", "complete"}) {
      const auto made = of(x, mode);
      EXPECT_THAT(product(made.at("Q"), made.at("R")), near(x, 1e-5));
      const Tensor square = product(made.at("Q"), made.at("Q"), true);
      const int64_t n = square.shape()[square.shape().rank() - 1];
      for (int64_t i = 0; i < square.numel(); ++i) {
        EXPECT_NEAR(square.data<float>()[i], i / n % n == i % n ? 1 : 0, 1e-5);
      }
    }
    const auto triangle = of(x, "r");
    EXPECT_EQ(triangle.at("Q").numel(), 0);
    EXPECT_THAT(triangle.at("R"), equal_to(of(x).at("R")));
  }
}

TEST(Qr, AllKernelsAgree) {
  check_op({.type = "qr", .inputs = {{"X", uniform({4, 3}, -1, 1, 5)}}});
  check_op({.type = "qr", .inputs = {{"X", uniform({2, 3, 3}, -1, 1, 6)}}});
}

TEST(Qr, Refusals) {
  EXPECT_REFUSED(build_op("qr", {{"X", full({3}, 1)}}), "qr takes matrices, but X has shape [3]");
  EXPECT_REFUSED(build_op("qr", {{"X", full({3, 3}, 1)}}, {{"mode", std::string("full")}}),
                 "mode must be reduced, complete or r, but is \"full\"");
}

}  // namespace
}  // namespace flotilla
