// flotilla/ops/math/scan.cuh
//
// Walks along an axis on a GPU: each element is left what was gathered up to it.
//
// What is gathered is a state, with start() and an associative join(a, b). load(at, i) is that of
// element i of the walk, which lies at `at`; emit(at, i, before, after) leaves what was found
// before the element, and with it. Few long slices are walked by a block each, piece by piece.

#pragma once

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.cuh"

namespace flotilla::ops {

// The slices of a tensor, each in the order of the walk.
struct ScanWalk : GpuSlices {
  bool reverse = false;

  ScanWalk(const Slices& s, bool walks_back) : GpuSlices(s), reverse(walks_back) {}

  __device__ int64_t first(int64_t slice) const {
    return begin(slice) + (reverse ? (n - 1) * stride : 0);
  }
  // How far the next element is.
  __device__ int64_t step() const { return reverse ? -stride : stride; }
};

template <typename State, typename Load, typename Emit>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    scan_slices(ScanWalk walk, Load load, Emit emit) {
  const int64_t slice = cuda::thread_number();
  if (slice >= walk.count) return;
  int64_t at = walk.first(slice);
  State found = State::start();
  for (int64_t i = 0; i < walk.n; ++i, at += walk.step()) {
    const State next = State::join(found, load(at, i));
    emit(at, i, found, next);
    found = next;
  }
}

template <typename State, typename Load, typename Emit>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    scan_slice(ScanWalk walk, Load load, Emit emit) {
  constexpr int kEach = 4, kWarps = cuda::kGroupThreads / cuda::kWarp;
  __shared__ alignas(16) char memory[sizeof(State) * kWarps];
  State* const totals = reinterpret_cast<State*>(memory);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % cuda::kWarp;
  const int warp = thread / cuda::kWarp;
  const int64_t first = walk.first(blockIdx.x), step = walk.step();
  State carry = State::start();
  for (int64_t piece = 0; piece < walk.n; piece += kEach * cuda::kGroupThreads) {
    const int64_t begin = piece + thread * kEach;
    State own[kEach];
    State total = State::start();
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64_t i = begin + k;
      own[k] = i < walk.n ? load(first + i * step, i) : State::start();
      total = k == 0 ? own[k] : State::join(total, own[k]);
    }
    for (int far = 1; far < cuda::kWarp; far *= 2) {
      const State other = cuda::from_lane(total, lane < far ? lane : lane - far);
      if (lane >= far) total = State::join(other, total);
    }
    State before = cuda::from_lane(total, lane == 0 ? 0 : lane - 1);
    if (lane == 0) before = State::start();
    __syncthreads();  // the last totals are read
    if (lane == cuda::kWarp - 1) totals[warp] = total;
    __syncthreads();
    State found = carry;
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) found = carry;
      carry = State::join(carry, totals[w]);
    }
    found = State::join(found, before);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64_t i = begin + k;
      if (i >= walk.n) break;
      const State next = State::join(found, own[k]);
      emit(first + i * step, i, found, next);
      found = next;
    }
  }
}

template <typename State, typename Load, typename Emit>
void scan(Stream stream, const ScanWalk& walk, Load load, Emit emit) {
  constexpr int64_t kShort = 256, kMany = 8192;
  if (walk.count == 0 || walk.n == 0) return;
  if (walk.n <= kShort || walk.count >= kMany) {
    cuda::launch_each(stream, walk.count, scan_slices<State, Load, Emit>, walk, load, emit);
    return;
  }
  scan_slice<State>
      <<<static_cast<unsigned>(walk.count), cuda::kGroupThreads, 0, cuda::native(stream)>>>(
          walk, load, emit);
  cuda::check(cudaGetLastError(), "launch a walk over {} slices", walk.count);
}

// g = sum + factor * (g of the element before), as gradients are gathered on the way back.
template <typename T>
struct Recurrence {
  T factor, sum;

  __device__ static Recurrence start() { return {T{1}, T{0}}; }
  __device__ static Recurrence join(const Recurrence& a, const Recurrence& b) {
    return {a.factor * b.factor, b.factor * a.sum + b.sum};
  }
};

}  // namespace flotilla::ops
