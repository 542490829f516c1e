// flotilla/device/cuda/map.cuh
//
// out[i] = f(in[i]...), element by element: the frame of every such kernel. A thread takes 16 bytes
// at a time where all addresses allow it, and strides over the rest of the tensor with the grid.
//
// `out` may be one of the inputs: each element is read before it is written, by the same thread.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/stream.h"

namespace flotilla::cuda {

inline constexpr int kMapThreads = 256;
inline constexpr int kMapBlocksEach = 8;  // for each multiprocessor: 2048 threads, all it can hold

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

template <int N, typename T, typename F, typename... In>
__global__ void __launch_bounds__(kMapThreads) map_kernel(int64_t n, F f, T* out, const In*... in) {
  const int64_t first = int64_t{blockIdx.x} * kMapThreads + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * kMapThreads;
  for (int64_t p = first; p < n / N; p += stride) {
    Pack<T, N> result;
    const auto packs = [&](const Pack<In, N>... pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) result.lane[k] = f(pack.lane[k]...);
    };
    packs(reinterpret_cast<const Pack<In, N>*>(in)[p]...);
    reinterpret_cast<Pack<T, N>*>(out)[p] = result;
  }
  for (int64_t i = n / N * N + first; i < n; i += stride) out[i] = f(in[i]...);
}

// Enqueues the map. `processors`: multiprocessors(), asked for when the plan is made.
template <typename T, typename F, typename... In>
void map(Stream stream, int processors, int64_t n, F f, T* out, const In*... in) {
  static_assert(((sizeof(In) == sizeof(T)) && ...), "all elements are of one size");
  constexpr int kLanes = 16 / sizeof(T);
  if (n == 0) return;
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const bool packs = aligned(out) && (aligned(in) && ...);
  const int64_t work = packs ? std::max<int64_t>(n / kLanes, 1) : n;
  const int64_t blocks = std::min<int64_t>((work + kMapThreads - 1) / kMapThreads,
                                           int64_t{processors} * kMapBlocksEach);
  const auto grid = static_cast<unsigned>(blocks);
  const auto queue = static_cast<cudaStream_t>(stream.handle);
  if (packs) {
    map_kernel<kLanes><<<grid, kMapThreads, 0, queue>>>(n, f, out, in...);
  } else {
    map_kernel<1><<<grid, kMapThreads, 0, queue>>>(n, f, out, in...);
  }
  check(cudaGetLastError(), "launch a kernel over {} elements", n);
}

}  // namespace flotilla::cuda
