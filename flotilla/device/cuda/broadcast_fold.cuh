// flotilla/device/cuda/broadcast_fold.cuh
//
// The way back of broadcast.cuh: each element of a side that is repeated is the sum of what belongs
// to its copies in the result.
//
//   to[k] = the sum of value(where the copy lies) over the copies of element k
//
// The order of additions depends on the shapes alone. A block adds with many threads for each of a
// few sums; where there are few sums, their copies are cut into chunks first, whose sums go through
// the workspace.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/broadcast.cuh"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/stream.h"

namespace flotilla::cuda {

// An element of the result, and where both sides have it.
struct BroadcastPlace {
  int64_t out = 0;
  int64_t side[2] = {};
};

// Some of the axes of a result, outermost first.
struct FoldAxes {
  int64_t n = 1;
  int count = 0;
  int64_t extent[kBroadcastAxes] = {};
  BroadcastPlace step[kBroadcastAxes] = {};

  void add(int64_t size, const BroadcastPlace& moves) {
    extent[count] = size;
    step[count] = moves;
    n *= size;
    ++count;
  }

  // Not inlined: there would be several in each kernel.
  __device__ __noinline__ BroadcastPlace place(int64_t i, BroadcastPlace from = {}) const {
    return n <= INT32_MAX ? place_by<uint32_t>(i, from) : place_by<uint64_t>(i, from);
  }

 private:
  template <typename Int>
  __device__ BroadcastPlace place_by(int64_t i, BroadcastPlace at) const {
    auto rest = static_cast<Int>(i);
    for (int a = count - 1; a >= 0; --a) {
      const auto size = static_cast<Int>(extent[a]);
      const Int above = a == 0 ? 0 : rest / size;
      const auto within = static_cast<int64_t>(rest - above * size);
      at.out += within * step[a].out;
      at.side[0] += within * step[a].side[0];
      at.side[1] += within * step[a].side[1];
      rest = above;
    }
    return at;
  }
};

// How the threads of a block share sums and their copies.
struct FoldBlocks {
  static constexpr int kThreads = 256;

  int sums = 1, lanes = kThreads;  // sums * lanes = kThreads
  bool lanes_adjacent = true;      // neighbours take copies of one element, not different elements
  int64_t chunk = 1, chunks = 1;   // copies that a block adds up, and how often that is

  FoldBlocks() = default;
  FoldBlocks(int64_t kept, int64_t folded, bool inner_folded) : lanes_adjacent(inner_folded) {
    const auto power_from = [](int64_t n, int most) {
      int power = 1;
      while (power < n && power < most) power *= 2;
      return power;
    };
    lanes = power_from(folded, inner_folded ? kThreads : kThreads / power_from(kept, 32));
    sums = kThreads / lanes;
    constexpr int64_t kEachAtLeast = 16;  // copies for a thread
    constexpr int64_t kEnoughBlocks = 1024;
    const int64_t blocks = std::max<int64_t>((kept + sums - 1) / sums, 1);
    const int64_t wanted = std::clamp<int64_t>(folded / (lanes * kEachAtLeast), 1,
                                               std::max<int64_t>(kEnoughBlocks / blocks, 1));
    chunk = std::max<int64_t>((folded + wanted - 1) / wanted, 1);
    chunks = std::max<int64_t>((folded + chunk - 1) / chunk, 1);
  }
};

// Which elements of a result are copies of which element of one side.
class BroadcastFold {
 public:
  BroadcastFold() = default;
  BroadcastFold(const Broadcast& b, Broadcast::Side side) : side_(side) {
    int64_t dense = b.n;
    bool inner_folded = true;
    for (int a = 0; a < b.count; ++a) {
      if (b.extent[a] > 0) dense /= b.extent[a];
      inner_folded = b.stride[side][a] == 0;
      (inner_folded ? folded_ : kept_).add(b.extent[a], {dense, {b.stride[0][a], b.stride[1][a]}});
    }
    blocks_ = FoldBlocks(kept_.n, folded_.n, inner_folded);
    if (blocks_.chunks > 1) of_chunks_ = FoldBlocks(kept_.n, blocks_.chunks, false);
  }

  // Elements of workspace that run() needs.
  int64_t workspace() const { return blocks_.chunks > 1 ? kept_.n * blocks_.chunks : 0; }

  // to[k] = finish(sum of value(place)); sums are of type C.
  template <typename C, typename T, typename Value, typename Finish>
  void run(Stream stream, Value value, T* to, C* workspace, Finish finish) const;

 private:
  Broadcast::Side side_ = Broadcast::kX;
  FoldAxes kept_, folded_;
  FoldBlocks blocks_, of_chunks_;
};

namespace fold_detail {

template <typename C>
struct ChunkSums {
  const C* sums;
  __device__ C operator()(const BroadcastPlace& place) const { return sums[place.out]; }
};

// Where a sum goes: to its place, or that of a chunk to the others.
template <typename C, typename T, typename Finish>
struct Put {
  C* chunks;  // null: it is whole
  T* to;
  FoldAxes kept;
  Broadcast::Side side;
  Finish finish;

  __device__ void operator()(int64_t k, int64_t chunk, C sum) const {
    if (chunks != nullptr) {
      chunks[chunk * kept.n + k] = sum;
    } else {
      to[kept.place(k).side[side]] = finish(sum);
    }
  }
};

template <typename C, typename Value, typename Where>
__global__ void __launch_bounds__(FoldBlocks::kThreads)
    fold_kernel(const __grid_constant__ FoldAxes kept, const __grid_constant__ FoldAxes folded,
                FoldBlocks blocks, Value value, const __grid_constant__ Where put) {
  __shared__ C shared[FoldBlocks::kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const int lane = blocks.lanes_adjacent ? t % blocks.lanes : t / blocks.sums;
  const int sum = blocks.lanes_adjacent ? t / blocks.lanes : t % blocks.sums;
  const int64_t k = int64_t{blockIdx.x} * blocks.sums + sum;
  const int64_t begin = int64_t{blockIdx.y} * blocks.chunk;
  const int64_t end = begin + blocks.chunk < folded.n ? begin + blocks.chunk : folded.n;
  C total{0};
  if (k < kept.n) {
    const BroadcastPlace base = kept.place(k);
    if (folded.count == 1) {
      const BroadcastPlace step = folded.step[0];
#pragma unroll 4
      for (int64_t r = begin + lane; r < end; r += blocks.lanes) {
        total += value({base.out + r * step.out,
                        {base.side[0] + r * step.side[0], base.side[1] + r * step.side[1]}});
      }
    } else {
      for (int64_t r = begin + lane; r < end; r += blocks.lanes) {
        total += value(folded.place(r, base));
      }
    }
  }
  C* mine = shared + lane * blocks.sums + sum;
  *mine = total;
  for (int half = blocks.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) *mine += mine[half * blocks.sums];
  }
  if (lane == 0 && k < kept.n) put(k, blockIdx.y, *mine);
}

template <typename C, typename Value, typename Where>
void launch_fold(Stream stream, const FoldAxes& kept, const FoldAxes& folded,
                 const FoldBlocks& blocks, Value value, Where put) {
  const dim3 grid(static_cast<unsigned>((kept.n + blocks.sums - 1) / blocks.sums),
                  static_cast<unsigned>(blocks.chunks));
  fold_kernel<C><<<grid, FoldBlocks::kThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(
      kept, folded, blocks, value, put);
  check(cudaGetLastError(), "launch a kernel that adds up {} times {} elements", kept.n, folded.n);
}

}  // namespace fold_detail

template <typename C, typename T, typename Value, typename Finish>
void BroadcastFold::run(Stream stream, Value value, T* to, C* workspace, Finish finish) const {
  using namespace fold_detail;
  if (kept_.n == 0) return;
  Put<C, T, Finish> put{nullptr, to, kept_, side_, finish};
  if (blocks_.chunks == 1) {
    launch_fold<C>(stream, kept_, folded_, blocks_, value, put);
    return;
  }
  put.chunks = workspace;
  launch_fold<C>(stream, kept_, folded_, blocks_, value, put);
  put.chunks = nullptr;
  FoldAxes sums, chunks;
  sums.add(kept_.n, {1, {}});
  chunks.add(blocks_.chunks, {kept_.n, {}});
  launch_fold<C>(stream, sums, chunks, of_chunks_, ChunkSums<C>{workspace}, put);
}

}  // namespace flotilla::cuda
