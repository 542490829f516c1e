#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// Neither the op nor its gradient can be prepared before the numbers are known.
TEST(NumbersFromData, OpsAndGradientsWaitForThem) {
  const Tensor x = uniform({3, 4}, -1, 1), matrix = uniform({3, 1}, -1, 1);
  check_op(
      {.type = "roll", .inputs = {{"X", x}, {"ShiftsTensor", ints({1})}}, .grad_inputs = {"X"}});
  check_op({.type = "tile",
            .inputs = {{"X", x}, {"RepeatTimes", ints({2, 1}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "expand",
            .inputs = {{"X", x}, {"ExpandTimes", ints({1, 2}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "expand_v2",
            .inputs = {{"X", matrix}, {"Shape", ints({3, 2}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "gather",
            .inputs = {{"X", x}, {"Index", ints({2, 0})}, {"Axis", ints({1}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "pad3d",
            .inputs = {{"X", uniform({1, 1, 2, 1, 2}, -1, 1)},
                       {"Paddings", ints({1, 0, 0, 0, 0, 2}, i32)}},
            .grad_inputs = {"X"}});
}

}  // namespace
}  // namespace flotilla
