// flotilla/ops/loss/scalar_math.h
//
// log and exp for loops inside simd(): vector code for float, the library's for double.

#pragma once

#include <cmath>

#include "flotilla/device/cpu/fast_math.h"
#include "flotilla/device/cpu/simd.h"

namespace flotilla::ops {

FLT_INLINE float log_of(float x) { return fast_log(x); }
FLT_INLINE double log_of(double x) { return std::log(x); }
FLT_INLINE float exp_of(float x) { return fast_exp(x); }
FLT_INLINE double exp_of(double x) { return std::exp(x); }

}  // namespace flotilla::ops
