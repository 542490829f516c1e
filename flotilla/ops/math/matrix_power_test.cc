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

TEST(MatrixPower, KnownValues) {
  const auto power = [](int n) {
    return run_op("matrix_power", {{"X", tensor({{1, 1}, {1, 0}})}}, {{"n", n}}).at("Out");
  };
  EXPECT_THAT(power(10), near(tensor({{89, 55}, {55, 34}}), 1e-4));
  EXPECT_THAT(power(1), near(tensor({{1, 1}, {1, 0}}), 0));
  EXPECT_THAT(power(0), near(tensor({{1, 0}, {0, 1}}), 0));
  EXPECT_THAT(power(-2), near(tensor({{1, -1}, {-1, 2}}), 1e-6));
}

TEST(MatrixPower, AllKernelsAgree) {
  for (const int n : {-3, -1, 0, 1, 2, 5}) {
    check_op({.type = "matrix_power",
              .inputs = {{"X", matrices({2, 2, 2})}},
              .attrs = {{"n", n}},
              .tolerance = 1e-3});
  }
  EXPECT_REFUSED(build_op("matrix_power", {{"X", full({2, 3}, 1)}}),
                 "matrix_power takes square matrices, but X has shape [2, 3]");
}

}  // namespace
}  // namespace flotilla
