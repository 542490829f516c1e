#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

std::vector<double> close(const Inputs& inputs, const Attrs& attrs = {}) {
  return values_of(run_op("isclose", inputs, attrs).at("Out"));
}

TEST(Isclose, KnownValues) {
  const Inputs inputs = {{"Input", tensor({1, 1, NAN, INFINITY})},
                         {"Other", tensor({1.000001, 1.1, NAN, INFINITY})}};
  EXPECT_EQ(close(inputs), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(close(inputs, {{"equal_nan", true}}), (std::vector<double>{1, 0, 1, 1}));
  EXPECT_EQ(close(inputs, {{"rtol", std::string("0.2")}}), (std::vector<double>{1, 1, 0, 1}));
  // As 1.8 writes it.
  EXPECT_EQ(close(inputs, {{"atol", 0.2f}}), (std::vector<double>{1, 1, 0, 1}));
}

TEST(Allclose, KnownValues) {
  const Tensor x = tensor({1, 2});
  const auto all = [&](const Tensor& other, const Attrs& attrs = {}) {
    return values_of(run_op("allclose", {{"Input", x}, {"Other", other}}, attrs).at("Out"));
  };
  EXPECT_EQ(all(x), (std::vector<double>{1}));
  EXPECT_EQ(all(tensor({1, 3})), (std::vector<double>{0}));
  EXPECT_EQ(all(tensor({1, 3}), {{"atol", std::string("1")}}), (std::vector<double>{1}));
}

TEST(Closeness, Refusals) {
  const Tensor x = tensor({1, 2});
  EXPECT_REFUSED(build_op("isclose", {{"Input", x}, {"Other", tensor({1, 2, 3})}}),
                 "Input and Other must have one shape, but they are [2] and [3]");
  EXPECT_REFUSED(run_op("allclose", {{"Input", x}, {"Other", x}}, {{"rtol", std::string("small")}}),
                 "rtol must be a number, but is \"small\"");
  EXPECT_REFUSED(build_op("equal_all", {{"X", x}, {"Y", ints({1, 2})}}),
                 "X and Y must have one dtype, but hold f32 and i64");
}

}  // namespace
}  // namespace flotilla
