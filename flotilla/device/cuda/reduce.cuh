// flotilla/device/cuda/reduce.cuh
//
// Blocks whose threads form groups, each of which works on one slice of a tensor: its lanes take
// turns at the elements, and what they found is folded in an order that only the shape decides.
//
//   Group group(shape);                            // in a kernel of kGroupThreads
//   const int64_t slice = group.number();          // may lie behind the last one
//   for (i = group.lane(); i < n; i += group.lanes()) sum += x[begin + i * stride];
//   sum = group.fold<SumFold>(sum);                // all threads of the block call it
//   if (group.lane() == 0) y[slice] = sum;
//
// A fold is a type with a static, associative function fold(a, b).

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/stream.h"

namespace flotilla::cuda {

inline constexpr int kGroupThreads = 256;
inline constexpr int kWarp = 32;

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

// A value of another lane of the warp; all lanes of a warp call it.
template <typename T>
__device__ T from_lane(T value, int lane) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int w = 0; w < kWords; ++w) words[w] = __shfl_sync(0xffffffffu, words[w], lane);
  memcpy(&value, words, sizeof(T));
  return value;
}

// How a block is cut into groups.
struct GroupShape {
  int lanes = 1;        // of a group; a power of two
  bool across = false;  // neighbouring threads work on neighbouring slices, not elements
  int64_t blocks = 1;   // for all slices

  int groups() const { return kGroupThreads / lanes; }
};

// For `count` slices of `length` elements. `adjacent`: the elements of a slice lie side by side;
// otherwise the first elements of neighbouring slices do.
inline GroupShape group_shape(int64_t count, int64_t length, bool adjacent) {
  const auto power = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
  };
  GroupShape shape{.across = !adjacent};
  if (adjacent) {
    shape.lanes = static_cast<int>(std::min<int64_t>(power((length + 3) / 4), kGroupThreads));
  } else {
    const int64_t slices = std::min<int64_t>(power(count), kWarp);
    shape.lanes = static_cast<int>(std::min(kGroupThreads / slices, power(length)));
  }
  shape.blocks = (count + shape.groups() - 1) / shape.groups();
  return shape;
}

class Group {
 public:
  __device__ explicit Group(const GroupShape& shape)
      : lanes_(shape.lanes), groups_(kGroupThreads / shape.lanes), across_(shape.across) {}

  __device__ int lanes() const { return lanes_; }
  __device__ int lane() const {
    return static_cast<int>(threadIdx.x) / (across_ ? groups_ : 1) % lanes_;
  }
  // The slice of this group.
  __device__ int64_t number() const { return int64_t{blockIdx.x} * groups_ + within(); }

  // What all lanes of a group hold, folded in the order of the lanes; each gets the same bits. All
  // threads of a block call it.
  template <typename Fold, typename T>
  __device__ T fold(T value) const {
    return across_ ? fold_across<Fold>(value) : fold_adjacent<Fold>(value);
  }

 private:
  __device__ int within() const {
    return across_ ? static_cast<int>(threadIdx.x) % groups_
                   : static_cast<int>(threadIdx.x) / lanes_;
  }

  template <typename Fold, typename T>
  __device__ T fold_adjacent(T value) const {
    const int at = static_cast<int>(threadIdx.x) % kWarp;
    const int width = lanes_ < kWarp ? lanes_ : kWarp;
    for (int step = 1; step < width; step *= 2) {
      const T other = from_lane(value, (at + step) % kWarp);
      if (at % (2 * step) == 0) value = Fold::fold(value, other);
    }
    value = from_lane(value, at - at % width);
    if (lanes_ <= kWarp) return value;
    __shared__ alignas(16) char memory[sizeof(T) * (kGroupThreads / kWarp)];
    T* const parts = reinterpret_cast<T*>(memory);
    const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = lanes_ / kWarp;
    __syncthreads();  // the last fold is read
    if (at == 0) parts[warp] = value;
    __syncthreads();
    const T* const own = parts + warp / warps * warps;
    value = own[0];
    for (int w = 1; w < warps; ++w) value = Fold::fold(value, own[w]);
    return value;
  }

  template <typename Fold, typename T>
  __device__ T fold_across(T value) const {
    if (lanes_ == 1) return value;
    __shared__ alignas(16) char memory[sizeof(T) * kGroupThreads];
    T* const parts = reinterpret_cast<T*>(memory);
    T* const own = parts + within();
    const int at = lane();
    __syncthreads();  // the last fold is read
    own[at * groups_] = value;
    for (int step = 1; step < lanes_; step *= 2) {
      __syncthreads();
      if (at % (2 * step) == 0) {
        own[at * groups_] = Fold::fold(own[at * groups_], own[(at + step) * groups_]);
      }
    }
    __syncthreads();
    return own[0];
  }

  int lanes_, groups_;
  bool across_;
};

// Both are not negative. A division of 64 bits takes several times as long as one of 32.
__device__ inline int64_t quotient(int64_t a, int64_t b) {
  if ((a | b) >> 32 == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

// Launches a kernel of groups; none for no slices.
template <typename... Parameters, typename... Args>
void launch_groups(Stream stream, int64_t count, const GroupShape& shape,
                   void (*kernel)(Parameters...), Args... args) {
  if (count == 0) return;
  kernel<<<static_cast<unsigned>(shape.blocks), kGroupThreads, 0, native(stream)>>>(args...);
  check(cudaGetLastError(), "launch a kernel over {} slices", count);
}

// Launches a kernel in which thread i works on item i, and exits where there is none.
template <typename... Parameters, typename... Args>
void launch_each(Stream stream, int64_t count, void (*kernel)(Parameters...), Args... args) {
  if (count == 0) return;
  const int64_t blocks = (count + kGroupThreads - 1) / kGroupThreads;
  kernel<<<static_cast<unsigned>(blocks), kGroupThreads, 0, native(stream)>>>(args...);
  check(cudaGetLastError(), "launch a kernel over {} elements", count);
}

__device__ inline int64_t thread_number() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace flotilla::cuda
