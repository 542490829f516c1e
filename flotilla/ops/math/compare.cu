// flotilla/ops/math/compare.cu
//
// Comparisons, logic and what becomes of bits on a GPU: kernels for the operators that compare.cc
// defines, from the same lists of formulas.

#include <string>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/ops/common/compare_formulas.h"
#include "flotilla/ops/math/elementwise.cuh"

namespace flotilla::ops {
namespace {

// A function of one element, which it sees as it is computed with.
template <typename F, typename R>
struct Widened {
  template <typename T>
  FLT_FN R operator()(T x) const {
    return F{}(widen(x));
  }
};

template <typename F, typename T, typename R>
Step each(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), in = c.in<T>("X"), out = c.out<R>("Out")] {
    cuda::map(stream, processors, n, Widened<F, R>{}, out.data(), in.data());
  };
}

// The result has dtype R; void: that of X.
template <typename F, typename R, typename... T>
bool add_each(const std::string& type) {
  return add_kernels(
      type, {{kCuda, dtype_of<T>, each<F, T, std::conditional_t<std::is_void_v<R>, T, R>>}...});
}

template <typename... F>
bool add_answers(Types<F...>) {
  return (
      add_kernels(
          F::kInfo.type,
          cuda_binary_kernels<F, bool, float, double, Half, BFloat16, int32_t, int64_t, bool>()) &&
      ...);
}

template <typename... F>
bool add_bits(Types<F...>) {
  return (add_kernels(
              F::kInfo.type,
              cuda_binary_kernels<F, void, bool, uint8_t, int8_t, int16_t, int32_t, int64_t>()) &&
          ...);
}

template <typename... F>
bool add_questions(Types<F...>) {
  return (add_each<F, bool, float, double, Half, BFloat16>(std::string(F::kType) + "_v2") && ...);
}

[[maybe_unused]] const bool kAdded =
    add_answers(compare::Comparisons{}) && add_answers(compare::Logic{}) &&
    add_bits(compare::Bits{}) &&
    add_each<compare::BitNot, void, bool, uint8_t, int8_t, int16_t, int32_t, int64_t>(
        compare::BitNot::kType) &&
    add_each<compare::Not, bool, bool, float, double, Half, BFloat16, int32_t, int64_t>(
        compare::Not::kType) &&
    add_questions(Types<compare::IsFinite, compare::IsInf, compare::IsNan>{});

}  // namespace
}  // namespace flotilla::ops
