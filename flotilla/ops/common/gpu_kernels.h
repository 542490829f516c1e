// flotilla/ops/common/gpu_kernels.h
//
// Rows of the kernel table for GPUs.

#pragma once

#include <initializer_list>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// One for each of the dtypes of every_dtype(), all prepared by one function.
inline std::vector<Kernel> gpu_kernels_of_every_dtype(Step (*prepare)(PrepareContext&)) {
  std::vector<Kernel> kernels = every_dtype(prepare);
  for (Kernel& kernel : kernels) kernel.device = kCuda;
  return kernels;
}

// Some kernels on a GPU are prepared by the functions of those on the CPU: they say what goes where
// and leave it to others to move it, which look where they are (ops/common/move.h).
template <DType kDtype>
Step prepare_as_on_cpu(PrepareContext& c) {
  return find_kernel(op_def(c.op().type()), kCpu, kDtype).prepare(c);
}

// REQUIRES: each of the ops has a kernel for each of the dtypes on the CPU.
template <typename... T>
bool add_as_on_cpu(std::initializer_list<const char*> types) {
  for (const char* type : types) {
    add_kernels(type, {Kernel{kCuda, dtype_of<T>, prepare_as_on_cpu<dtype_of<T>>}...});
  }
  return true;
}

// The same for the dtypes of every_dtype().
inline bool add_every_dtype_as_on_cpu(std::initializer_list<const char*> types) {
  return add_as_on_cpu<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t, Half,
                       BFloat16>(types);
}

}  // namespace flotilla::ops
