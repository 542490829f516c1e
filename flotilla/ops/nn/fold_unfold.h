// flotilla/ops/nn/fold_unfold.h
//
// Windows that slide over images, as fold and unfold see them: element k of a window is at some
// places inside of the image.

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/base/host_device.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/nn/window.h"

namespace flotilla::ops {

// The windows along one axis of an image.
struct SlidingAxis {
  Window window = {};
  int64_t extent = 0;
  int64_t places = 0;

  // Element k of the window at place p lies at first(k) + p * window.stride.
  FLT_FN int64_t first(int64_t k) const { return k * window.dilation - window.pad_begin; }
  // The places at which element k lies inside of the image.
  int64_t begin(int64_t k) const { return places_before(-first(k)); }
  int64_t end(int64_t k) const { return places_before(extent - first(k)); }

  // Where element k of the window at place p lies; -1: outside of the image.
  FLT_FN int64_t pixel_of(int64_t k, int64_t p) const {
    const int64_t pixel = first(k) + p * window.stride;
    return pixel < extent ? pixel : -1;
  }
  // The place at which element k lies at `pixel`; -1: none.
  FLT_FN int64_t place_of(int64_t k, int64_t pixel) const {
    const int64_t way = pixel - first(k);
    const int64_t place = way / window.stride;
    return way >= 0 && place * window.stride == way && place < places ? place : -1;
  }

 private:
  int64_t places_before(int64_t reach) const {
    return std::min(places, (std::max<int64_t>(reach, 0) + window.stride - 1) / window.stride);
  }
};

struct SlidingWindows {
  SlidingAxis down = {}, right = {};

  FLT_FN int64_t size() const { return down.window.size * right.window.size; }
  FLT_FN int64_t places() const { return down.places * right.places; }
  FLT_FN int64_t pixels() const { return down.extent * right.extent; }

  // Calls f(place, pixel) for each place at which element k of the window lies inside of the image.
  template <typename F>
  void for_each(int64_t k, F f) const {
    const int64_t i = k / right.window.size, j = k % right.window.size;
    for (int64_t row = down.begin(i); row < down.end(i); ++row) {
      const int64_t y = down.first(i) + row * down.window.stride;
      const int64_t left = y * right.extent + right.first(j);
      for (int64_t column = right.begin(j); column < right.end(j); ++column) {
        f(row * right.places + column, left + column * right.window.stride);
      }
    }
  }
};

// Columns from images and images from columns, on a GPU. A build with CUDA fills them in before
// main() (fold_unfold.cu).
template <typename T>
struct GpuColumns {
  Step (*take)(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* images,
               const char* columns) = nullptr;
  Step (*add)(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* columns,
              const char* images) = nullptr;
};
template <typename T>
inline GpuColumns<T> gpu_columns = {};

}  // namespace flotilla::ops
