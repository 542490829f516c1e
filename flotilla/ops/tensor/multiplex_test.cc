#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Multiplex, TakesRowsFromInputs) {
  const Inputs inputs = {{"Ids", ints({1, 0, 1}, Shape{3, 1}, i32)},
                         {"X", {uniform({3, 2}, -1, 1), uniform({3, 2}, -1, 1, 2)}}};
  check_op({.type = "multiplex", .inputs = inputs});
  Inputs wrong = inputs;
  wrong["Ids"] = ints({1, 0, 2}, Shape{3, 1}, i32);
  EXPECT_REFUSED(run_op("multiplex", wrong), "row 2 asks for input 2, but there are 2");
  // Paddle 1.8's gradient op does not have X.
  const OpResult grads = run_op(
      "multiplex_grad", {{"Ids", inputs.at("Ids")}, {"Out@GRAD", tensor({{1, 2}, {3, 4}, {5, 6}})}},
      {}, {.outputs = {{"X@GRAD", 2}}});
  EXPECT_THAT(grads.at("X@GRAD", 0), equal_to(tensor({{0, 0}, {3, 4}, {0, 0}})));
  EXPECT_THAT(grads.at("X@GRAD", 1), equal_to(tensor({{1, 2}, {0, 0}, {5, 6}})));
}

}  // namespace
}  // namespace flotilla
