#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Extents = std::vector<int64_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(UniformRandom, Diagonal) {
  const Tensor x =
      make("uniform_random",
           {{"shape", Extents{3, 3}}, {"diag_num", 3}, {"diag_step", 3}, {"diag_val", 9.0f}});
  const std::vector<double> values = values_of(x);
  EXPECT_EQ(values[0], 9);
  EXPECT_EQ(values[4], 9);
  EXPECT_EQ(values[8], 9);
  EXPECT_LT(values[1], 1);
}

}  // namespace
}  // namespace flotilla
