#include "flotilla/testing/counting.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(MaskedSelect, ByMask) {
  const Tensor x = counting({2, 3}), row = tensor({1, 0, 1}, Shape{1, 3}, boolean);
  EXPECT_THAT(run_op("masked_select", {{"X", x}, {"Mask", row}}).at("Y"),
              equal_to(tensor({0, 2, 3, 5})));
  const Tensor none = full({2, 3}, 0, boolean);
  EXPECT_THAT(run_op("masked_select", {{"X", x}, {"Mask", none}}).at("Y"), has_shape({0}));
  EXPECT_THAT(
      run_op("masked_select_grad", {{"X", x}, {"Mask", row}, {"Y@GRAD", tensor({1, 2, 3, 4})}})
          .at("X@GRAD"),
      equal_to(tensor({{1, 0, 2}, {3, 0, 4}})));
  EXPECT_REFUSED(build_op("masked_select", {{"X", x}, {"Mask", x}}),
                 "Mask must hold bool, but holds f32");
}

}  // namespace
}  // namespace flotilla
