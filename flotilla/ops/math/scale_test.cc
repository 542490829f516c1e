#include "flotilla/op/op_def.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

// The slot is X, or x.
std::string slot_of(const std::string& type) { return op_def(type).inputs[0].name; }

Tensor unary(const std::string& type, Tensor x, Attrs attrs = {}) {
  return run_op(type, {{slot_of(type), std::move(x)}}, attrs).at(op_def(type).outputs[0].name);
}

// Scale and bias are cut off to whole numbers first, as in Paddle.
TEST(Scale, WholeNumbers) {
  EXPECT_THAT(unary("scale", ints({3, 5}), {{"scale", 0.5f}, {"bias", 1.0f}}), equal_to({1, 1}));
  EXPECT_THAT(unary("scale", ints({3, 5}, i32), {{"scale", 1.5f}, {"bias", 0.7f}}),
              equal_to({3, 5}));
}

TEST(Scale, SparseRows) {
  EXPECT_THAT(
      run_op("scale", {{"X", sparse({2, 0}, tensor({{1, 2}, {3, 4}}), 3)}}, {{"scale", 0.5f}})
          .at("Out"),
      equal_to(tensor({{1.5, 2}, {0, 0}, {0.5, 1}})));
}

}  // namespace
}  // namespace flotilla
