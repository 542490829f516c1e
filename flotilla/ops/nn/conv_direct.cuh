// flotilla/ops/nn/conv_direct.cuh
//
// Convolutions on a GPU without a library: a thread for each element of the result of images, a
// block for each element of a filter's gradient. For f64, and for what cuDNN has no algorithm for.
// Images lie as the program says; each sum has one order.

#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/ops/nn/conv_problem.h"

namespace flotilla::ops {

inline constexpr int kConvThreads = 128;

// A convolution from `src` to `dst` as kernels take it.
struct DirectConv {
  int64_t src_channels = 0, dst_channels = 0, groups = 1;
  int64_t src_extents[2] = {}, dst_extents[2] = {}, filter_extents[2] = {};
  int64_t strides[2] = {}, pads[2] = {}, dilations[2] = {};
  int64_t src_strides[4] = {}, dst_strides[4] = {};  // of n, c, y, x
  int64_t batch = 0;
  bool channels_last = false;

  DirectConv(const onednn::ConvProblem& p, const DataFormat& format)
      : src_channels(p.src[1]),
        dst_channels(p.dst[1]),
        groups(p.groups),
        batch(p.src[0]),
        channels_last(format.channels_last()) {
    const Image src(format.program(p.src), format), dst(format.program(p.dst), format);
    for (int i = 0; i < 4; ++i) {
      src_strides[i] = src.strides[i];
      dst_strides[i] = dst.strides[i];
    }
    for (int a = 0; a < 2; ++a) {
      const auto i = static_cast<size_t>(a);
      src_extents[a] = p.src[a + 2];
      dst_extents[a] = p.dst[a + 2];
      filter_extents[a] = p.weights[a + 2];
      strides[a] = p.strides[i];
      pads[a] = p.pads_begin[i];
      dilations[a] = p.dilations[i];
    }
  }

  FLT_FN int64_t src_depth() const { return src_channels / groups; }
  FLT_FN int64_t dst_depth() const { return dst_channels / groups; }
  FLT_FN int64_t filter_at(int64_t o, int64_t c, int64_t ky, int64_t kx) const {
    return ((o * src_depth() + c) * filter_extents[0] + ky) * filter_extents[1] + kx;
  }
  // Where the filter's element `k` meets the source for place `at` of the destination; -1: outside.
  FLT_FN int64_t source(int axis, int64_t at, int64_t k) const {
    const int64_t place = at * strides[axis] + k * dilations[axis] - pads[axis];
    return place < src_extents[axis] ? place : -1;
  }
  // The place of the destination for which the filter's element `k` meets place `at` of the source;
  // -1: there is none.
  FLT_FN int64_t destination(int axis, int64_t at, int64_t k) const {
    const int64_t moved = at + pads[axis] - k * dilations[axis];
    if (moved < 0 || moved % strides[axis] != 0) return -1;
    const int64_t place = moved / strides[axis];
    return place < dst_extents[axis] ? place : -1;
  }
};

// The indices of element `i` of an image.
struct Pixel {
  int64_t n, c, y, x;

  FLT_FN Pixel(int64_t i, int64_t channels, const int64_t* extents, bool channels_last) {
    if (channels_last) {
      c = i % channels;
      i /= channels;
    }
    x = i % extents[1];
    i /= extents[1];
    y = i % extents[0];
    i /= extents[0];
    if (!channels_last) {
      c = i % channels;
      i /= channels;
    }
    n = i;
  }
  FLT_FN int64_t in(const int64_t* strides) const { return n * strides[0] + c * strides[1]; }
};

template <typename T>
__global__ void __launch_bounds__(kConvThreads)
    conv_forward(DirectConv g, int64_t count, const T* src, const T* filter, T* dst) {
  const int64_t step = int64_t{gridDim.x} * kConvThreads;
  for (int64_t i = int64_t{blockIdx.x} * kConvThreads + threadIdx.x; i < count; i += step) {
    Pixel to(i, g.dst_channels, g.dst_extents, g.channels_last);
    const int64_t o = to.c;
    to.c = o / g.dst_depth() * g.src_depth();
    const T* images = src + to.in(g.src_strides);
    Compute<T> sum = 0;
    for (int64_t c = 0; c < g.src_depth(); ++c) {
      for (int64_t ky = 0; ky < g.filter_extents[0]; ++ky) {
        const int64_t y = g.source(0, to.y, ky);
        if (y < 0) continue;
        for (int64_t kx = 0; kx < g.filter_extents[1]; ++kx) {
          const int64_t x = g.source(1, to.x, kx);
          if (x < 0) continue;
          sum += widen(images[c * g.src_strides[1] + y * g.src_strides[2] + x * g.src_strides[3]]) *
                 widen(filter[g.filter_at(o, c, ky, kx)]);
        }
      }
    }
    dst[i] = narrow<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kConvThreads)
    conv_source_gradient(DirectConv g, int64_t count, const T* dst, const T* filter, T* src) {
  const int64_t step = int64_t{gridDim.x} * kConvThreads;
  for (int64_t i = int64_t{blockIdx.x} * kConvThreads + threadIdx.x; i < count; i += step) {
    Pixel to(i, g.src_channels, g.src_extents, g.channels_last);
    const int64_t c = to.c % g.src_depth(), first = to.c / g.src_depth() * g.dst_depth();
    to.c = first;
    const T* images = dst + to.in(g.dst_strides);
    Compute<T> sum = 0;
    for (int64_t o = 0; o < g.dst_depth(); ++o) {
      for (int64_t ky = 0; ky < g.filter_extents[0]; ++ky) {
        const int64_t y = g.destination(0, to.y, ky);
        if (y < 0) continue;
        for (int64_t kx = 0; kx < g.filter_extents[1]; ++kx) {
          const int64_t x = g.destination(1, to.x, kx);
          if (x < 0) continue;
          sum += widen(images[o * g.dst_strides[1] + y * g.dst_strides[2] + x * g.dst_strides[3]]) *
                 widen(filter[g.filter_at(first + o, c, ky, kx)]);
        }
      }
    }
    src[i] = narrow<T>(sum);
  }
}

// A block for each element of the filter.
template <typename T>
__global__ void __launch_bounds__(kConvThreads)
    conv_filter_gradient(DirectConv g, const T* src, const T* dst, T* filter) {
  __shared__ Compute<T> sums[kConvThreads];
  int64_t rest = blockIdx.x;
  const int64_t kx = rest % g.filter_extents[1];
  rest /= g.filter_extents[1];
  const int64_t ky = rest % g.filter_extents[0];
  rest /= g.filter_extents[0];
  const int64_t o = rest / g.src_depth();
  const int64_t c = o / g.dst_depth() * g.src_depth() + rest % g.src_depth();
  Compute<T> sum = 0;
  const int64_t count = g.batch * g.dst_extents[0] * g.dst_extents[1];
  for (int64_t i = threadIdx.x; i < count; i += kConvThreads) {
    const Pixel at(i, 1, g.dst_extents, false);
    const int64_t y = g.source(0, at.y, ky), x = g.source(1, at.x, kx);
    if (y < 0 || x < 0) continue;
    sum += widen(src[at.n * g.src_strides[0] + c * g.src_strides[1] + y * g.src_strides[2] +
                     x * g.src_strides[3]]) *
           widen(dst[at.n * g.dst_strides[0] + o * g.dst_strides[1] + at.y * g.dst_strides[2] +
                     at.x * g.dst_strides[3]]);
  }
  sums[threadIdx.x] = sum;
  for (int half = kConvThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) filter[blockIdx.x] = narrow<T>(sums[0]);
}

inline unsigned conv_blocks(int64_t count, int processors) {
  const int64_t blocks = (count + kConvThreads - 1) / kConvThreads;
  return static_cast<unsigned>(std::min<int64_t>(blocks, int64_t{processors} * 16));
}

}  // namespace flotilla::ops
