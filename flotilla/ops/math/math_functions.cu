// flotilla/ops/math/math_functions.cu
//
// The functions of a pocket calculator on a GPU: kernels for operators that math_functions.cc
// defines, from the same list of formulas.

#include "flotilla/ops/common/math_formulas.h"
#include "flotilla/ops/math/unary.cuh"

namespace flotilla::ops {
namespace {

using OtherNumberFunctions = Types<unary::Square, unary::Abs, unary::Trunc, unary::Pow>;

[[maybe_unused]] const bool kFunctions = add_cuda_unary(unary::FloatFunctions{}) &&
                                         add_cuda_unary(unary::NumberFunctions{}) &&
                                         add_cuda_unary_integers(unary::NumberFunctions{});

// Its gradient is made of others.
[[maybe_unused]] const bool kSign =
    add_kernels("sign", cuda_float_kernels<CudaUnaryForward<unary::Sign>>()) &&
    add_cuda_unary_integers(Types<unary::Sign>{});

}  // namespace
}  // namespace flotilla::ops
