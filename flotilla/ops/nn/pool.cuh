// flotilla/ops/nn/pool.cuh
//
// What the pools on a GPU share. An image lies as [outer][height][width][lanes], channels being
// outer or lanes; a block of threads takes a few rows of the result, and each thread an element.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/nn/pool_rules.h"

namespace flotilla::ops {

inline constexpr int kPoolThreads = 256;

struct Pools {
  PoolRule rows = {}, columns = {};
  int64_t outer = 1, lanes = 1;

  FLT_FN int64_t elements() const { return rows.extent * columns.extent * lanes; }  // of an image
  FLT_FN int64_t windows() const { return rows.places * columns.places * lanes; }
};

// Calls f(image, row, column, lane) for each element of images of `height` rows of `width` times
// `lanes`, one by each thread.
template <typename F>
__device__ void for_each_place(int64_t outer, int64_t height, int64_t width, int64_t lanes, F f) {
  const int64_t count = outer * height, step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t r = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; r < count; r += step) {
    const int64_t image = r / height, row = r - image * height;
    for (int64_t t = threadIdx.x; t < width * lanes; t += blockDim.x) {
      const int64_t column = t >> 32 == 0 && lanes >> 32 == 0
                                 ? static_cast<uint32_t>(t) / static_cast<uint32_t>(lanes)
                                 : t / lanes;
      f(image, row, column, t - column * lanes);
    }
  }
}

// Calls f(place in the window's image) for the places of a window, row by row.
template <typename F>
__device__ void for_each_in_window(const Pools& p, const PoolRange& rows, const PoolRange& columns,
                                   F f) {
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) f((y * p.columns.extent + x) * p.lanes);
  }
}

// Calls f(row of windows, column of windows, their ranges) for the windows that hold a place.
template <typename F>
__device__ void for_each_window_of(const Pools& p, int64_t y, int64_t x, F f) {
  for (int64_t i = p.rows.first(y); i <= p.rows.last(y); ++i) {
    const PoolRange rows = p.rows.range(i);
    if (y < rows.begin || y >= rows.end) continue;
    for (int64_t j = p.columns.first(x); j <= p.columns.last(x); ++j) {
      const PoolRange columns = p.columns.range(j);
      if (x < columns.begin || x >= columns.end) continue;
      f(i, j, rows, columns);
    }
  }
}

// Enqueues a kernel over images of `height` rows of `width` elements, lanes included.
template <typename... Parameters, typename... Arguments>
void launch_pool(Stream stream, int processors, int64_t outer, int64_t height, int64_t width,
                 void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (outer * height * width == 0) return;
  unsigned across = 32;
  while (across < kPoolThreads && across < width) across *= 2;
  const dim3 threads(across, kPoolThreads / across);
  const int64_t wanted = (outer * height + threads.y - 1) / threads.y;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(wanted, int64_t{processors} * 64));
  kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream.handle)>>>(arguments...);
  cuda::check(cudaGetLastError(), "pool images of {} x {} elements", height, width);
}

}  // namespace flotilla::ops
