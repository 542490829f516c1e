// flotilla/ops/math/elementwise.cuh
//
// Kernels on a GPU for binary operators over broadcast operands, shared by arithmetic and
// comparisons: elementwise.h for CUDA. An operator is a type with a static function f(x, y).

#pragma once

#include <string_view>
#include <type_traits>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/broadcast.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/math/binary_plan.h"

namespace flotilla::ops {

// The axes of the result and how both operands move along them.
inline cuda::Broadcast broadcast_of(const BinaryPlan& plan) {
  return cuda::broadcast_of(walk_axes(plan.out, plan.layout, plan.x, plan.y));
}

// An operand: one that is repeated lies row by row.
template <typename T>
In<T> operand_in(PrepareContext& c, std::string_view slot, const BinaryPlan& plan,
                 const Shape& extents) {
  return c.in<T>(slot, 0, extents == plan.out ? plan.layout : Layout());
}

// The operator as a function of elements.
template <typename F, typename R>
struct BinaryFunction {
  template <typename T>
  FLT_FN R operator()(T x, T y) const {
    return narrow<R>(F::f(widen(x), widen(y)));
  }
};

template <typename F, typename T, typename R>
Step cuda_binary_step(PrepareContext& c) {
  const BinaryPlan plan = plan_binary(c, c.shape("Out"), {"X", "Y"}, false);
  if constexpr (std::is_same_v<T, R>) {
    if (!plan.x_repeated()) c.in_place("X", "Out");
    if (!plan.y_repeated()) c.in_place("Y", "Out");
  }
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          b = broadcast_of(plan), x = operand_in<T>(c, "X", plan, plan.x),
          y = operand_in<T>(c, "Y", plan, plan.y), out = c.out<R>("Out", 0, plan.layout)] {
    cuda::broadcast_map(stream, processors, b, BinaryFunction<F, R>{}, out.data(),
                        cuda::Operand<T>{x.data(), b.side_x}, cuda::Operand<T>{y.data(), b.side_y});
  };
}

// A row of the kernel table for each dtype T. The result has dtype R; void: that of the operands.
template <typename F, typename R, typename... T>
std::vector<Kernel> cuda_binary_kernels() {
  return {
      {kCuda, dtype_of<T>, cuda_binary_step<F, T, std::conditional_t<std::is_void_v<R>, T, R>>}...};
}

}  // namespace flotilla::ops
