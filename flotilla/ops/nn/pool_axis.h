// flotilla/ops/nn/pool_axis.h
//
// The windows of a pool along one axis of an image, cut to the image.

#pragma once

#include <algorithm>
#include <vector>

#include "flotilla/device/allocator.h"
#include "flotilla/ops/nn/window.h"

namespace flotilla::ops {

struct PoolAxis {
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t counted = 0;  // what a mean divides by
    int64_t size() const { return end - begin; }
  };

  int64_t extent = 0;
  int64_t places = 0;              // -1: not known
  std::vector<Range> ranges = {};  // where the extent is known
};

// `places` windows of about the same size, which cover the axis.
inline PoolAxis adaptive_axis(int64_t extent, int64_t places) {
  PoolAxis axis = {extent, std::max<int64_t>(places, 0)};
  require_room(places * static_cast<int64_t>(sizeof(PoolAxis::Range)));
  for (int64_t i = 0; extent >= 0 && i < places; ++i) {
    const int64_t begin = i * extent / places, end = ((i + 1) * extent + places - 1) / places;
    axis.ranges.push_back({begin, end, end - begin});
  }
  return axis;
}

// `exclusive`: a mean leaves padding out.
inline PoolAxis pool_axis(int64_t extent, const Window& window, int64_t places, bool exclusive) {
  PoolAxis axis = {extent, places};
  require_room(places * static_cast<int64_t>(sizeof(PoolAxis::Range)));
  for (int64_t i = 0; extent >= 0 && i < places; ++i) {
    const int64_t begin = i * window.stride - window.pad_begin, end = begin + window.size;
    PoolAxis::Range range = {std::clamp<int64_t>(begin, 0, extent), std::min(end, extent)};
    // As in Paddle, the padding behind the image counts no further than that before it.
    range.counted = exclusive ? range.size() : std::min(end, extent + window.pad_begin) - begin;
    axis.ranges.push_back(range);
  }
  return axis;
}

}  // namespace flotilla::ops
