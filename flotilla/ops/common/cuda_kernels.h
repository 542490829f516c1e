// flotilla/ops/common/cuda_kernels.h
//
// Rows of the kernel table for a GPU, as kernels_for (op/op_def.h) makes them for a CPU.
//
//   constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step { ... };
//   add_kernels("relu", cuda_kernels_for<float, double>(forward));

#pragma once

#include <vector>

#include "flotilla/op/op_def.h"

namespace flotilla::ops {

// Names the type of elements, where nvcc wants to see it among the parameters.
template <typename T>
struct Of {};

// The same generic lambda, instantiated for each of the dtypes.
template <typename... T, typename F>
std::vector<Kernel> cuda_kernels_for(F) {
  return {Kernel{kCuda, dtype_of<T>, [](PrepareContext& c) -> Step { return F{}(c, Of<T>()); }}...};
}

template <typename F>
std::vector<Kernel> cuda_floats(F kernel) {
  return cuda_kernels_for<float, double, Half, BFloat16>(kernel);
}

}  // namespace flotilla::ops
