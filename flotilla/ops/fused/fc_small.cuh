// flotilla/ops/fused/fc_small.cuh
//
// Small layers on a GPU in one kernel: product, bias and activation. A library's product alone
// takes twice as long there, because few blocks each walk all of k; here the warps of a block share
// k between them and add their sums in order.

#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/stream.h"
#include "flotilla/ops/fused/fc_problem.h"

namespace flotilla::ops {

inline constexpr int kFcThreads = 256;
inline constexpr int kFcWarps = kFcThreads / 32;
inline constexpr int kFcRows = 8, kFcColumns = 16;  // of a block's tile of the result
inline constexpr int kFcChunk = 448;                // of k, that lies in shared memory at once
inline constexpr int kFcRowStride = kFcChunk + 4;   // rows lie in different banks
inline constexpr int kFcSums = kFcRows * kFcColumns / 32;  // of a thread

// Where a library's product is slower; measured on an H200.
inline bool is_small_fc(const FcSizes& s) {
  return s.k <= 2048 && s.m * s.n <= (int64_t{1} << 16) && s.m * s.n * s.k <= (int64_t{1} << 23);
}

// Copies rows of up to `columns` elements from a matrix that ends after `rows_left` rows and
// `columns_left` columns; zeros stand for what lies behind. By `kAtOnce` elements.
template <int kAtOnce>
__device__ void fetch_tile(float* to, int to_stride, int rows, int columns, const float* from,
                           int64_t from_stride, int64_t rows_left, int64_t columns_left) {
  const int pieces = columns / kAtOnce;
  for (int i = threadIdx.x; i < rows * pieces; i += kFcThreads) {
    const int row = i / pieces, column = i % pieces * kAtOnce;
    float* place = to + row * to_stride + column;
    if (row < rows_left && column < columns_left) {
      __pipeline_memcpy_async(place, from + row * from_stride + column, kAtOnce * sizeof(float));
    } else {
      for (int e = 0; e < kAtOnce; ++e) place[e] = 0;
    }
  }
}

// kAtOnce is 4 where k and n are multiples of it and all addresses of 16 bytes; else 1.
template <typename Formula, int kAtOnce>
__global__ void __launch_bounds__(kFcThreads)
    fc_small(FcSizes s, const float* x, const float* w, const float* bias, float* out) {
  __shared__ __align__(16) float xs[kFcRows * kFcRowStride];
  __shared__ __align__(16) float ws[kFcChunk * kFcColumns];
  static_assert(kFcWarps * kFcSums * 32 <= kFcRows * kFcRowStride);
  const int64_t row = int64_t{blockIdx.y} * kFcRows, column = int64_t{blockIdx.x} * kFcColumns;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int own_column = lane % kFcColumns, own_row = lane / kFcColumns * kFcSums;
  float sums[kFcSums] = {};
  for (int64_t begin = 0; begin < s.k; begin += kFcChunk) {
    const int64_t left = s.k - begin;
    // A multiple of what the warps take in a turn; zeros stand behind the end.
    const int chunk =
        left >= kFcChunk ? kFcChunk : static_cast<int>((left + 4 * kFcWarps - 1) / 32 * 32);
    fetch_tile<kAtOnce>(xs, kFcRowStride, kFcRows, chunk, x + row * s.k + begin, s.k, s.m - row,
                        left);
    fetch_tile<kAtOnce>(ws, kFcColumns, chunk, kFcColumns, w + begin * s.n + column, s.n, left,
                        s.n - column);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    const int each = chunk / kFcWarps;
    for (int k = warp * each; k < (warp + 1) * each; k += 4) {
      float weights[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) weights[e] = ws[(k + e) * kFcColumns + own_column];
#pragma unroll
      for (int r = 0; r < kFcSums; ++r) {
        const float4 four = *reinterpret_cast<const float4*>(xs + (own_row + r) * kFcRowStride + k);
        sums[r] += four.x * weights[0];
        sums[r] += four.y * weights[1];
        sums[r] += four.z * weights[2];
        sums[r] += four.w * weights[3];
      }
    }
    __syncthreads();
  }
  float* parts = xs;  // of the warps
#pragma unroll
  for (int r = 0; r < kFcSums; ++r) parts[(warp * kFcSums + r) * 32 + lane] = sums[r];
  __syncthreads();
  if (threadIdx.x >= kFcRows * kFcColumns) return;
  const int r = threadIdx.x / kFcColumns, c = threadIdx.x % kFcColumns;
  if (row + r >= s.m || column + c >= s.n) return;
  float sum = 0;
  for (int p = 0; p < kFcWarps; ++p) {
    sum += parts[(p * kFcSums + r % kFcSums) * 32 + r / kFcSums * kFcColumns + c];
  }
  out[(row + r) * s.n + column + c] = Formula::f(sum + bias[column + c], Params<float>());
}

// One column: a warp for each row.
template <typename Formula>
__global__ void __launch_bounds__(kFcThreads)
    fc_column(FcSizes s, const float* x, const float* w, const float* bias, float* out) {
  const int64_t row = int64_t{blockIdx.x} * kFcWarps + threadIdx.x / 32;
  if (row >= s.m) return;
  float sum = 0;
  for (int64_t k = threadIdx.x % 32; k < s.k; k += 32) sum += x[row * s.k + k] * w[k];
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half);
  if (threadIdx.x % 32 == 0) out[row] = Formula::f(sum + *bias, Params<float>());
}

// REQUIRES: is_small_fc(s), or one column
inline void run_small_fc(Stream stream, const FcSizes& s, FcAct act, const float* x, const float* w,
                         const float* bias, float* out) {
  const auto queue = static_cast<cudaStream_t>(stream.handle);
  const auto parts = [](int64_t n, int64_t size) {
    return static_cast<unsigned>((n + size - 1) / size);
  };
  if (s.m * s.n == 0) return;
  with_formula(act, [&]<typename Formula>(Formula) {
    if (s.n == 1) {
      fc_column<Formula><<<parts(s.m, kFcWarps), kFcThreads, 0, queue>>>(s, x, w, bias, out);
      return;
    }
    const dim3 grid(parts(s.n, kFcColumns), parts(s.m, kFcRows));
    const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
    if (s.k % 4 == 0 && s.n % 4 == 0 && aligned(x) && aligned(w)) {
      fc_small<Formula, 4><<<grid, kFcThreads, 0, queue>>>(s, x, w, bias, out);
    } else {
      fc_small<Formula, 1><<<grid, kFcThreads, 0, queue>>>(s, x, w, bias, out);
    }
  });
  cuda::check(cudaGetLastError(), "run a layer of {} x {} x {}", s.m, s.k, s.n);
}

}  // namespace flotilla::ops
