// flotilla/device/cuda/convert.cuh
//
// Elements to compute with, by the instructions that a GPU has for 16-bit floats, and 16 bytes of
// them at a time. As widen() and narrow() of base/half.h, but for the bits of a NaN.

#pragma once

#include <cuda_runtime.h>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/map.cuh"

namespace flotilla::cuda {

template <typename T>
__device__ __forceinline__ Compute<T> loaded(T x) {
  if constexpr (std::is_same_v<T, Half>) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
  } else {
    return widen(x);
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kStoresBFloat16 = true;
#else
inline constexpr bool kStoresBFloat16 = false;
#endif

template <typename T>
__device__ __forceinline__ T stored(Compute<T> x) {
  if constexpr (std::is_same_v<T, Half>) {
    T result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
  } else if constexpr (std::is_same_v<T, BFloat16> && kStoresBFloat16) {
    T result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
  } else {
    return narrow<T>(x);
  }
}

// How many elements are 16 bytes.
template <typename T>
inline constexpr int kVector = 16 / static_cast<int>(sizeof(T));

inline bool in_vectors(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

// One load or store where it is 16 bytes. REQUIRES: the address is a multiple of that then.
template <int N, typename T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
  Pack<T, N> pack;
  if constexpr (sizeof(pack) == 16) {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    memcpy(&pack, &raw, sizeof(pack));
  } else {
    for (int i = 0; i < N; ++i) pack.lane[i] = from[i];
  }
  return pack;
}

template <int N, typename T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
  if constexpr (sizeof(pack) == 16) {
    uint4 raw;
    memcpy(&raw, &pack, sizeof(pack));
    *reinterpret_cast<uint4*>(to) = raw;
  } else {
    for (int i = 0; i < N; ++i) to[i] = pack.lane[i];
  }
}

}  // namespace flotilla::cuda
