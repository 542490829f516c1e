#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Lrn, AllKernelsAgree) {
  for (const std::string format : {"NCHW", "NHWC"}) {
    check_op({.type = "lrn",
              .inputs = {{"X", uniform({2, 4, 2, 3}, -2, 2)}},
              .attrs = {{"n", 3}, {"alpha", 0.5f}, {"k", 1.0f}, {"data_format", format}},
              .grad_outputs = {"Out"}});
  }
  EXPECT_REFUSED(build_op("lrn", {{"X", full({2, 4, 2, 3}, 1)}}, {{"n", 4}}),
                 "n must be odd and positive, but is 4");
}

}  // namespace
}  // namespace flotilla
