// flotilla/device/cuda/each.cuh
//
// f(i) for each i in [0, n): kernels whose threads have nothing to do with each other.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/stream.h"

namespace flotilla::cuda {

inline constexpr int kEachThreads = 256;
inline constexpr int kEachBlocks = 8;  // for each multiprocessor

template <typename F>
__global__ void __launch_bounds__(kEachThreads) each_kernel(int64_t n, const F f) {
  const int64_t stride = int64_t{gridDim.x} * kEachThreads;
  for (int64_t i = int64_t{blockIdx.x} * kEachThreads + threadIdx.x; i < n; i += stride) f(i);
}

// `f` is a value with a __device__ function of i; it is copied with the launch.
template <typename F>
void each(Stream stream, int processors, int64_t n, const F& f) {
  if (n == 0) return;
  const int64_t blocks =
      std::min<int64_t>((n + kEachThreads - 1) / kEachThreads, int64_t{processors} * kEachBlocks);
  each_kernel<<<static_cast<unsigned>(blocks), kEachThreads, 0,
                static_cast<cudaStream_t>(stream.handle)>>>(n, f);
  check(cudaGetLastError(), "launch a kernel for {} elements", n);
}

}  // namespace flotilla::cuda
