#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Seed, IsGivenOrDrawn) {
  EXPECT_THAT(make("seed", {{"seed", 7}}), equal_to(ints({7}, i32)));
  EXPECT_THAT(make("seed", {}), has_shape({1}));
  EXPECT_GE(values_of(make("seed", {}))[0], 0);
}

}  // namespace
}  // namespace flotilla
