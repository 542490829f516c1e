// flotilla/ops/nn/pool_axis.h
//
// The windows of a pool along one axis of an image, cut to the image.
//
// PoolRule is what they are for the kernels of every device; PoolAxis lists them, too.

#pragma once

#include <algorithm>
#include <vector>

#include "flotilla/base/host_device.h"
#include "flotilla/device/allocator.h"
#include "flotilla/ops/nn/window.h"

namespace flotilla::ops {

struct PoolRange {
  int64_t begin = 0, end = 0;
  int64_t counted = 0;  // what a mean divides by
  FLT_FN int64_t size() const { return end - begin; }
};

struct PoolRule {
  int64_t extent = 0;
  int64_t places = 0;  // -1: not known
  // Windows of about the same size, which cover the axis; else of one size and step.
  bool adaptive = false;
  bool exclusive = false;  // a mean leaves padding out
  int64_t size = 1, stride = 1, padding = 0;

  FLT_FN PoolRange range(int64_t i) const {
    if (adaptive) {
      const int64_t begin = quotient(i * extent, places);
      const int64_t end = quotient((i + 1) * extent + places - 1, places);
      return {begin, end, end - begin};
    }
    const int64_t begin = i * stride - padding, end = begin + size;
    PoolRange found = {begin < 0 ? 0 : least(begin, extent), least(end, extent)};
    // As in Paddle, the padding behind the image counts no further than that before it.
    found.counted = exclusive ? found.size() : least(end, extent + padding) - begin;
    return found;
  }

  // The windows that may hold place `at` are those of [first(at), last(at)].
  FLT_FN int64_t first(int64_t at) const {
    if (adaptive) return quotient(at * places, extent);
    const int64_t behind = at + padding - size;  // the windows before end here or earlier
    return behind < 0 ? 0 : quotient(behind, stride) + 1;
  }
  FLT_FN int64_t last(int64_t at) const {
    const int64_t ahead = at + padding;
    return least(adaptive    ? quotient((at + 1) * places - 1, extent)
                 : ahead < 0 ? -1
                             : quotient(ahead, stride),
                 places - 1);
  }

 private:
  FLT_FN static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
  // Of numbers that are not negative; most fit into 32 bits, which GPUs divide far faster.
  FLT_FN static int64_t quotient(int64_t a, int64_t b) {
    if ((a | b) >> 32 == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
    return a / b;
  }
};

struct PoolAxis : PoolRule {
  using Range = PoolRange;
  std::vector<Range> ranges = {};  // where the extent is known

  explicit PoolAxis(const PoolRule& rule = {}) : PoolRule(rule) {
    for (int64_t i = 0; extent >= 0 && i < places; ++i) ranges.push_back(range(i));
  }
};

// Both refuse more windows than an axis could list.
inline PoolRule adaptive_rule(int64_t extent, int64_t places) {
  require_room(places * static_cast<int64_t>(sizeof(PoolRange)));
  return {.extent = extent, .places = std::max<int64_t>(places, 0), .adaptive = true};
}

inline PoolRule pool_rule(int64_t extent, const Window& window, int64_t places, bool exclusive) {
  require_room(places * static_cast<int64_t>(sizeof(PoolRange)));
  return {.extent = extent,
          .places = places,
          .exclusive = exclusive,
          .size = window.size,
          .stride = window.stride,
          .padding = window.pad_begin};
}

}  // namespace flotilla::ops
