// flotilla/ops/nn/conv_loops.h
//
// Convolutions as loops over everything: what f64 runs, and the reference for f32.

#pragma once

#include <cstdint>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {

// An index of the program's image is
// n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3].
struct Image {
  Shape extents;  // channels first
  int64_t strides[4];

  Image(const Shape& program, const DataFormat& format) : extents(format.first(program)) {
    const int64_t channels = extents[1], height = extents[2], width = extents[3];
    const bool last = format.channels_last();
    strides[0] = channels * height * width;
    strides[1] = last ? 1 : height * width;
    strides[2] = last ? width * channels : width;
    strides[3] = last ? channels : 1;
  }
  int64_t at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
  }
};

// Calls f(input index, filter index, output index) for every product of the output channels
// [begin, end).
template <typename F>
void for_products(const Image& in, const Image& out, const onednn::ConvProblem& p, int64_t begin,
                  int64_t end, F f) {
  const int64_t depth = p.weights[1], kh = p.weights[2], kw = p.weights[3];
  const int64_t filters_per_group = p.weights[0] / p.groups;
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t n = 0; n < in.extents[0]; ++n) {
      for (int64_t y = 0; y < out.extents[2]; ++y) {
        for (int64_t x = 0; x < out.extents[3]; ++x) {
          for (int64_t k = 0; k < depth * kh * kw; ++k) {
            const int64_t channel = k / (kh * kw), ky = k / kw % kh, kx = k % kw;
            const int64_t iy = y * p.strides[0] + ky * p.dilations[0] - p.pads_begin[0];
            const int64_t ix = x * p.strides[1] + kx * p.dilations[1] - p.pads_begin[1];
            if (iy < 0 || iy >= in.extents[2] || ix < 0 || ix >= in.extents[3]) continue;
            f(in.at(n, o / filters_per_group * depth + channel, iy, ix), o * depth * kh * kw + k,
              out.at(n, o, y, x));
          }
        }
      }
    }
  }
}

}  // namespace flotilla::ops
