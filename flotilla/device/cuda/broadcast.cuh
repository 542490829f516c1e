// flotilla/device/cuda/broadcast.cuh
//
// out[i] = f(x[place of i], y[place of i], ...): map.cuh for operands of which some are repeated
// along axes of the result. A thread takes 16 bytes of the widest operand at a time where it can.
//
// `out` may be an operand that is not repeated: each element is read before it is written, by the
// same thread.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/cuda/stream.h"

namespace flotilla::cuda {

inline constexpr int kBroadcastAxes = 8;  // after those that can be have become one

// The axes of a dense result, outermost first, and how far two sides move along them, in elements.
struct Broadcast {
  enum Side { kDense = -1, kX = 0, kY = 1 };

  int64_t n = 1;
  int count = 0;
  int64_t extent[kBroadcastAxes] = {};
  int64_t stride[2][kBroadcastAxes] = {};
  Side side_x = kDense, side_y = kDense;  // kDense: that side lies as the result does

  // Where a side has element i of the result.
  __device__ int64_t place(int side, int64_t i) const {
    return side == kDense ? i : repeated_place(side, i);
  }

 private:
  // Not inlined: there would be one for each lane of a pack, in each kernel.
  __device__ __noinline__ int64_t repeated_place(int side, int64_t i) const {
    return n <= INT32_MAX ? place_by<uint32_t>(side, i) : place_by<uint64_t>(side, i);
  }
  // Division of 64 bits takes several times as long.
  template <typename Int>
  __device__ int64_t place_by(int side, int64_t i) const {
    auto rest = static_cast<Int>(i);
    int64_t at = 0;
    for (int a = count - 1; a > 0; --a) {
      const auto size = static_cast<Int>(extent[a]);
      const Int above = rest / size;
      at += static_cast<int64_t>(rest - above * size) * stride[side][a];
      rest = above;
    }
    return at + static_cast<int64_t>(rest) * stride[side][0];
  }
};

// Of a list of axes with `extent`, `x` and `y`.
template <typename Axes>
Broadcast broadcast_of(const Axes& axes) {
  require(axes.size() <= static_cast<size_t>(kBroadcastAxes),
          "operands that are repeated along every other axis have at most {} axes on a GPU, but "
          "there are {}",
          kBroadcastAxes, axes.size());
  Broadcast made;
  made.count = static_cast<int>(axes.size());
  for (int a = made.count - 1; a >= 0; --a) {
    const auto& axis = axes[static_cast<size_t>(a)];
    if (axis.x != made.n) made.side_x = Broadcast::kX;
    if (axis.y != made.n) made.side_y = Broadcast::kY;
    made.extent[a] = axis.extent;
    made.stride[Broadcast::kX][a] = axis.x;
    made.stride[Broadcast::kY][a] = axis.y;
    made.n *= axis.extent;
  }
  return made;
}

// A tensor as one side of a broadcast, or as dense as the result.
template <typename T>
struct Operand {
  const T* data = nullptr;
  Broadcast::Side side = Broadcast::kDense;
};

namespace broadcast_detail {

// How the elements for one pack of results lie.
enum Loading : int8_t { kTogether, kSame, kEach };

template <typename T>
struct Loader {
  const T* data;
  Broadcast::Side side;
  Loading loading;
};

template <int N, typename T>
Loader<T> loader(const Broadcast& b, const Operand<T>& from) {
  const bool aligned = begins_pack<N>(from.data);
  if (from.side == Broadcast::kDense) return {from.data, from.side, aligned ? kTogether : kEach};
  const int64_t* stride = b.stride[from.side];
  const int inner = b.count - 1;
  if (inner < 0 || b.extent[inner] % N != 0) return {from.data, from.side, kEach};
  if (stride[inner] == 0) return {from.data, from.side, kSame};
  bool together = aligned && stride[inner] == 1;
  for (int a = 0; a < inner; ++a) together = together && stride[a] % N == 0;
  return {from.data, from.side, together ? kTogether : kEach};
}

template <int N, typename T>
__device__ Pack<T, N> load(const Broadcast& b, const Loader<T>& from, int64_t i) {
  Pack<T, N> pack;
  if (from.loading == kEach) {
#pragma unroll
    for (int k = 0; k < N; ++k) pack.lane[k] = from.data[b.place(from.side, i + k)];
    return pack;
  }
  const T* at = from.data + b.place(from.side, i);
  if (from.loading == kTogether) return *reinterpret_cast<const Pack<T, N>*>(at);
  const T same = *at;
#pragma unroll
  for (int k = 0; k < N; ++k) pack.lane[k] = same;
  return pack;
}

template <int N, typename T, typename F, typename... In>
__global__ void __launch_bounds__(kMapThreads)
    broadcast_kernel(const __grid_constant__ Broadcast b, F f, T* out, bool whole_packs,
                     Loader<In>... in) {
  const int64_t first = (int64_t{blockIdx.x} * kMapThreads + threadIdx.x) * N;
  const int64_t stride = int64_t{gridDim.x} * kMapThreads * N;
  for (int64_t i = first; i < b.n; i += stride) {
    if (whole_packs && i + N <= b.n) {
      Pack<T, N> result;
      const auto packs = [&](const Pack<In, N>... pack) {
#pragma unroll
        for (int k = 0; k < N; ++k) result.lane[k] = f(pack.lane[k]...);
      };
      packs(load<N>(b, in, i)...);
      *reinterpret_cast<Pack<T, N>*>(out + i) = result;
    } else {
      const int64_t end = i + N < b.n ? i + N : b.n;
      for (int64_t j = i; j < end; ++j) out[j] = f(in.data[b.place(in.side, j)]...);
    }
  }
}

}  // namespace broadcast_detail

// Enqueues out[i] = f(in[place of i]...) for all elements of the result.
template <typename T, typename F, typename... In>
void broadcast_map(Stream stream, int processors, const Broadcast& b, F f, T* out,
                   const Operand<In>&... in) {
  using namespace broadcast_detail;
  constexpr int kLanes = 16 / static_cast<int>(std::max({sizeof(T), sizeof(In)...}));
  if (b.n == 0) return;
  const int64_t packs = (b.n + kLanes - 1) / kLanes;
  const int64_t blocks = std::min<int64_t>((packs + kMapThreads - 1) / kMapThreads,
                                           int64_t{processors} * kMapBlocksEach);
  broadcast_kernel<kLanes>
      <<<static_cast<unsigned>(blocks), kMapThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(
          b, f, out, begins_pack<kLanes>(out), loader<kLanes>(b, in)...);
  check(cudaGetLastError(), "launch a kernel over {} elements", b.n);
}

}  // namespace flotilla::cuda
