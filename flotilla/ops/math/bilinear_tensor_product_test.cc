#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(BilinearTensorProduct, AllKernelsAgree) {
  Inputs inputs = {{"X", uniform({3, 2}, -1, 1)},
                   {"Y", uniform({3, 4}, -1, 1, 2)},
                   {"Weight", uniform({5, 2, 4}, -1, 1, 3)}};
  check_op({.type = "bilinear_tensor_product", .inputs = inputs});
  inputs.emplace("Bias", uniform({1, 5}, -1, 1, 4));
  check_op({.type = "bilinear_tensor_product", .inputs = inputs});
  inputs["Weight"] = full({5, 3, 4}, 0);
  EXPECT_REFUSED(build_op("bilinear_tensor_product", inputs),
                 "Weight must have shape [size, 2, 4] for X [3, 2] and Y [3, 4], but has "
                 "[5, 3, 4]");
}

}  // namespace
}  // namespace flotilla
