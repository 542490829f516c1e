// flotilla/ops/math/special_functions.cu
//
// The functions of analysis on a GPU: kernels for operators that math_functions.cc defines, from
// the same list of formulas.

#include "flotilla/ops/common/special_formulas.h"
#include "flotilla/ops/math/unary.cuh"

namespace flotilla::ops {
namespace {

[[maybe_unused]] const bool kFunctions = add_cuda_unary(unary::SpecialFunctions{});

}  // namespace
}  // namespace flotilla::ops
