// flotilla/ops/math/math_functions.cu
//
// The functions of a pocket calculator on a GPU: kernels for operators that math_functions.cc
// defines, from the same list of formulas.

#include "flotilla/ops/common/math_formulas.h"
#include "flotilla/ops/math/unary.cuh"

namespace flotilla::ops {
namespace {

[[maybe_unused]] const bool kFunctions =
    add_cuda_unary(unary::FloatFunctions{}) && add_cuda_unary(Types<unary::Square, unary::Abs>{});

}  // namespace
}  // namespace flotilla::ops
