#include "flotilla/op/kernel_dtype.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(KernelDtype, IsThatOfTheFirstVariableThatIsThere) {
  const Op op("toy_halves_grad", {{"Out@GRAD", {std::string(kEmptyVar), "g"}}},
              {{"X@GRAD", {"x"}}});
  const VarMeta g = VarMeta::tensor(f64, {2});
  EXPECT_EQ(kernel_dtype(op, op_def(op.type()), {{"Out@GRAD", {VarMeta{}, g}}}, {}), f64);
}

}  // namespace
}  // namespace flotilla
