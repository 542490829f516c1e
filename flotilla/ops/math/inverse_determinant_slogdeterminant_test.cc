#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// Far from singular: what is added to the diagonal is more than the rest of a row.
Tensor matrices(const Shape& shape) {
  Tensor made = uniform(shape, -1, 1, 3);
  const int64_t n = shape[shape.rank() - 1];
  for (int64_t i = 0; i < shape.numel(); ++i) {
    if (i / n % n == i % n) made.data<float>()[i] += static_cast<float>(i % 2 == 0 ? 4 : -4);
  }
  return made;
}

TEST(Inverse, KnownValues) {
  const auto inverse = [](const Tensor& x) {
    return run_op("inverse", {{"Input", x}}).at("Output");
  };
  EXPECT_THAT(inverse(tensor({{1, 2}, {3, 4}})), near(tensor({{-2, 1}, {1.5, -0.5}}), 1e-6));
  // The first pivot is zero.
  EXPECT_THAT(inverse(tensor({{0, 2}, {1, 5}})), near(tensor({{-2.5, 1}, {0.5, 0}}), 1e-6));
  EXPECT_THAT(inverse(tensor({2, 4}, {2, 1, 1})), near(tensor({0.5, 0.25}, {2, 1, 1}), 0));
}

TEST(Inverse, AllKernelsAgree) {
  check_op({.type = "inverse", .inputs = {{"Input", matrices({4, 4})}}});
  check_op({.type = "inverse", .inputs = {{"Input", matrices({2, 2, 3, 3})}}});
}

TEST(Inverse, Refusals) {
  EXPECT_REFUSED(build_op("inverse", {{"Input", full({2, 3}, 1)}}),
                 "inverse takes square matrices, but Input has shape [2, 3]");
  EXPECT_REFUSED(run_op("inverse", {{"Input", tensor({{1, 2}, {2, 4}})}}),
                 "Input holds a matrix that has no inverse");
}

TEST(Determinant, KnownValues) {
  const auto of = [](const std::string& type, const Tensor& x) {
    return run_op(type, {{"Input", x}}).at("Out");
  };
  const Tensor x = tensor({{0, 2}, {1, 5}}), singular = tensor({{1, 2}, {2, 4}});
  EXPECT_THAT(of("determinant", x), near({-2}, 1e-6));
  EXPECT_THAT(of("determinant", tensor({2, -4, 3}, {3, 1, 1})), equal_to({2, -4, 3}));
  EXPECT_THAT(of("determinant", singular), equal_to({0}));
  EXPECT_THAT(of("slogdeterminant", x), near({-1, std::log(2.0)}, 1e-6));
  EXPECT_THAT(of("slogdeterminant", tensor({2, -4}, {2, 1, 1})),
              near(tensor({{1, -1}, {std::log(2.0), std::log(4.0)}}), 1e-6));
  EXPECT_THAT(of("slogdeterminant", singular), equal_to({0, -INFINITY}));
}

TEST(Determinant, AllKernelsAgree) {
  for (const char* type : {"determinant", "slogdeterminant"}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}}) {
      check_op({.type = type, .inputs = {{"Input", matrices(shape)}}});
    }
  }
}

}  // namespace
}  // namespace flotilla
