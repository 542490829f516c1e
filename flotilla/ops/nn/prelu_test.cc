#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Prelu, AllKernelsAgree) {
  const Tensor x = uniform({2, 3, 2, 2}, -1, 1);
  check_op({.type = "prelu", .inputs = {{"X", x}, {"Alpha", tensor({0.25})}}});
  check_op({.type = "prelu",
            .inputs = {{"X", x}, {"Alpha", uniform({1, 3, 1, 1}, 0, 1, 2)}},
            .attrs = {{"mode", "channel"}}});
  check_op({.type = "prelu",
            .inputs = {{"X", uniform({2, 2, 2, 3}, -1, 1)}, {"Alpha", uniform({3}, 0, 1, 2)}},
            .attrs = {{"mode", "channel"}, {"data_format", "NHWC"}}});
  check_op({.type = "prelu",
            .inputs = {{"X", x}, {"Alpha", uniform({1, 3, 2, 2}, 0, 1, 2)}},
            .attrs = {{"mode", "element"}}});
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 2}, Shape{2, 3, 1, 2, 2}}) {
    check_op({.type = "prelu",
              .inputs = {{"X", uniform(shape, -1, 1)}, {"Alpha", uniform({1, 3, 1, 1}, 0, 1, 2)}},
              .attrs = {{"mode", "channel"}}});
  }
  EXPECT_THAT(run_op("prelu", {{"X", tensor({-2, 2})}, {"Alpha", tensor({0.25})}}).at("Out"),
              near({-0.5, 2}, 0));
  EXPECT_REFUSED(
      build_op("prelu", {{"X", x}, {"Alpha", tensor({1, 2})}}, {{"mode", "channel"}}),
      "Alpha must hold 3 numbers because X has shape [2, 3, 2, 2] and mode is channel, but has "
      "shape [2]");
}

}  // namespace
}  // namespace flotilla
