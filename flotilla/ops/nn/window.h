// flotilla/ops/nn/window.h
//
// The geometry of a window that slides over an image: convolution and pooling.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/shape.h"

namespace flotilla::ops {

// Along one axis.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t reach() const { return dilation * (size - 1) + 1; }
  // How many places there are in `extent`; -1 where that is unknown.
  int64_t places(int64_t extent) const {
    if (extent < 0) return -1;
    return room(extent) < 0 ? 0 : room(extent) / stride + 1;
  }
  // The same for a pool, whose window may be larger than the image by less than a stride: as in
  // Paddle, where the division rounds to zero. `ceil`: it may reach beyond to cover the rest.
  int64_t pool_places(int64_t extent, bool ceil) const {
    if (extent < 0) return -1;
    return std::max<int64_t>((room(extent) + (ceil ? stride - 1 : 0)) / stride + 1, 0);
  }

 private:
  int64_t room(int64_t extent) const { return extent + pad_begin + pad_end - reach(); }
};

struct WindowAttrs {
  std::vector<int64_t> strides = {};
  std::vector<int64_t> paddings = {};   // one for both ends of each axis, or begin and end of each
  std::vector<int64_t> dilations = {};  // empty: 1
  std::string algorithm = "EXPLICIT";   // SAME and VALID work the paddings out
};

// The windows of `sizes` over the last extents of an image.
inline std::vector<Window> windows(const std::vector<int64_t>& extents,
                                   const std::vector<int64_t>& sizes, const WindowAttrs& attrs) {
  constexpr int64_t kMost = int64_t{1} << 31;  // products of two still fit
  const size_t n = sizes.size();
  const std::vector<int64_t>& pads = attrs.paddings;
  require(attrs.strides.size() == n, "strides must hold {} numbers, but holds {}", n,
          attrs.strides.size());
  require(pads.size() == n || pads.size() == 2 * n,
          "paddings must hold {} or {} numbers, but holds {}", n, 2 * n, pads.size());
  require(attrs.dilations.empty() || attrs.dilations.size() == n,
          "dilations must hold {} numbers, but holds {}", n, attrs.dilations.size());
  const bool same = attrs.algorithm == "SAME", valid = attrs.algorithm == "VALID";
  require(same || valid || attrs.algorithm == "EXPLICIT",
          "padding_algorithm must be EXPLICIT, SAME or VALID, but is \"{}\"", attrs.algorithm);
  std::vector<Window> found;
  for (size_t i = 0; i < n; ++i) {
    Window w = {.size = sizes[i],
                .stride = attrs.strides[i],
                .dilation = attrs.dilations.empty() ? 1 : attrs.dilations[i],
                .pad_begin = pads[pads.size() == n ? i : 2 * i],
                .pad_end = pads[pads.size() == n ? i : 2 * i + 1]};
    for (const int64_t number : {w.size, w.stride, w.dilation, w.pad_begin, w.pad_end}) {
      require(-kMost < number && number < kMost,
              "sizes, strides, dilations and paddings must lie below 2^31, but axis {} has {}", i,
              number);
    }
    require(w.size != 0 && w.stride > 0 && w.dilation > 0,
            "windows need positive sizes, strides and dilations, but axis {} has {}, {} and {}", i,
            w.size, w.stride, w.dilation);
    if (same || valid) w.pad_begin = w.pad_end = 0;
    if (same) {
      // As in Paddle, SAME leaves no gaps.
      w.dilation = 1;
      const int64_t places = (extents[i] + w.stride - 1) / w.stride;
      const int64_t total = (places - 1) * w.stride + w.size - extents[i];
      if (extents[i] >= 0 && total > 0) {
        w.pad_begin = total / 2;
        w.pad_end = total - w.pad_begin;
      }
    }
    found.push_back(w);
  }
  return found;
}

// The number for an axis of an attribute that has one for each of the two.
template <typename Context>
int64_t of_axis(const Context& c, const char* name, size_t axis, int64_t least) {
  const auto numbers = c.template attr<std::vector<int64_t>>(name);
  require(numbers.size() == 2 && std::ranges::min(numbers) >= least,
          "{} must be two numbers of at least {}, but are {}", name, least,
          fmt::join(numbers, ", "));
  return numbers[axis];
}

}  // namespace flotilla::ops
