#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Assign, CopiesToAndFromADevice) {
  for (const char* type : {"memcpy", "memcpy_h2d", "memcpy_d2h"}) {
    EXPECT_THAT(run_op(type, {{"X", ints({1, 2})}}, {{"dst_place_type", 1}}).at("Out"),
                equal_to(ints({1, 2})));
  }
}

TEST(Assign, AllKernelsAgree) {
  check_op({.type = "assign", .inputs = {{"X", uniform({2, 18, 1, 3}, -1, 1)}}});
  EXPECT_THAT(run_op("assign", {{"X", sparse({1}, tensor({{1, 2}}), 2)}}).at("Out"),
              equal_to(tensor({{0, 0}, {1, 2}})));
}

}  // namespace
}  // namespace flotilla
