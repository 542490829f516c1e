#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(EqualAll, KnownValues) {
  const auto equal = [](const Tensor& x, const Tensor& y) {
    return values_of(run_op("equal_all", {{"X", x}, {"Y", y}}).at("Out"));
  };
  EXPECT_EQ(equal(ints({1, 2}), ints({1, 2})), (std::vector<double>{1}));
  EXPECT_EQ(equal(ints({1, 2}), ints({1, 3})), (std::vector<double>{0}));
  EXPECT_EQ(equal(tensor({1, 2}), tensor({{1, 2}})), (std::vector<double>{0}));
}

}  // namespace
}  // namespace flotilla
