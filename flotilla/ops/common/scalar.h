// flotilla/ops/common/scalar.h
//
// Functions of one number that formulas are made of, for a CPU and a GPU. For a float on a CPU they
// are those of fast_math.h, so that a loop over them becomes vector code inside simd().

#pragma once

#include <cmath>

#include "flotilla/base/host_device.h"
#include "flotilla/device/cpu/fast_math.h"

namespace flotilla::ops {

FLT_FN double exp_of(double x) { return std::exp(x); }
FLT_FN double log_of(double x) { return std::log(x); }
FLT_FN double tanh_of(double x) { return std::tanh(x); }
FLT_FN double sigmoid_of(double x) {
  const double e = std::exp(-std::abs(x));
  return (x > 0 ? 1 : e) / (1 + e);
}

#ifdef __CUDA_ARCH__
FLT_FN float exp_of(float x) { return std::exp(x); }
FLT_FN float log_of(float x) { return std::log(x); }
FLT_FN float tanh_of(float x) { return std::tanh(x); }
FLT_FN float sigmoid_of(float x) {
  const float e = std::exp(-std::abs(x));
  return (x > 0 ? 1 : e) / (1 + e);
}
#else
FLT_FN float exp_of(float x) { return fast_exp(x); }
FLT_FN float log_of(float x) { return fast_log(x); }
FLT_FN float tanh_of(float x) { return fast_tanh(x); }
FLT_FN float sigmoid_of(float x) { return fast_sigmoid(x); }
#endif

// As std::max, the first one where neither is larger; it also runs on a GPU.
template <typename T>
FLT_FN T larger_of(T a, T b) {
  return a < b ? b : a;
}
// log(1 + exp(x)) without overflow, given exp(-|x|).
template <typename T>
FLT_FN T softplus_from(T x, T e) {
  return (x > 0 ? x : T{0}) + std::log1p(e);
}
template <typename T>
FLT_FN T softplus_of(T x) {
  return softplus_from(x, exp_of(x < 0 ? x : -x));
}

// The same by the library's exp and tanh, right to less than a unit in the last place: for loops
// that compute one element at a time, where there is nothing to gain from vector code. Recurrent
// layers and sampled losses have these bits; those above differ in the last one or two.
namespace exact {

template <typename T>
FLT_FN T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
// log(sigmoid(x)) is -softplus(-x).
template <typename T>
FLT_FN T softplus(T x) {
  return softplus_from(x, std::exp(-std::abs(x)));
}

}  // namespace exact
}  // namespace flotilla::ops
