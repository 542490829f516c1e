// flotilla/device/cuda/map.cuh
//
// out[i] = f(in[i]...), element by element: the frame of every such kernel. A thread takes 16 bytes
// of the widest tensor at a time where all addresses allow it, and strides over the rest with the
// grid.
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

// `packs`: of the elements that fill whole ones.
template <int N, typename T, typename F, typename... In>
__global__ void __launch_bounds__(kMapThreads)
    map_kernel(int64_t n, int64_t packs, F f, T* out, const In*... in) {
  const int64_t first = int64_t{blockIdx.x} * kMapThreads + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * kMapThreads;
  for (int64_t p = first; p < packs; p += stride) {
    Pack<T, N> result;
    const auto each = [&](const Pack<In, N>... pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) result.lane[k] = f(pack.lane[k]...);
    };
    each(reinterpret_cast<const Pack<In, N>*>(in)[p]...);
    reinterpret_cast<Pack<T, N>*>(out)[p] = result;
  }
  for (int64_t i = packs * N + first; i < n; i += stride) out[i] = f(in[i]...);
}

// Whether packs of N elements may be read and written from here on.
template <int N, typename T>
bool begins_pack(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(Pack<T, N>) == 0;
}

// Enqueues the map. `processors`: of the GPU, asked for when the plan is made.
template <typename T, typename F, typename... In>
void map(Stream stream, int processors, int64_t n, F f, T* out, const In*... in) {
  constexpr int kLanes = 16 / static_cast<int>(std::max({sizeof(T), sizeof(In)...}));
  if (n == 0) return;
  const bool aligned = begins_pack<kLanes>(out) && (begins_pack<kLanes>(in) && ...);
  const int64_t packs = aligned ? n / kLanes : 0;
  const int64_t work = aligned ? std::max<int64_t>(packs, 1) : n;
  const int64_t blocks = std::min<int64_t>((work + kMapThreads - 1) / kMapThreads,
                                           int64_t{processors} * kMapBlocksEach);
  map_kernel<kLanes>
      <<<static_cast<unsigned>(blocks), kMapThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(
          n, packs, f, out, in...);
  check(cudaGetLastError(), "launch a kernel over {} elements", n);
}

}  // namespace flotilla::cuda
