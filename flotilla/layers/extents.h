// flotilla/layers/extents.h
//
// What layers of images are told: extents axis by axis, and which axis holds the channels.

#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::layers {

// One number for all axes, or one for each.
struct Extents {
  template <std::integral T>
  Extents(T all) : values{static_cast<int32_t>(all)} {}
  Extents(std::initializer_list<int32_t> each) : values(each) {}
  Extents(std::vector<int32_t> each) : values(std::move(each)) {}

  // The numbers for `axes` axes; refuses a count that is neither one nor that, naming `what`.
  std::vector<int32_t> expand(size_t axes, std::string_view what) const;

  std::vector<int32_t> values;
};

// The axis of the channels in `format`, NCHW or NHWC; tensors of other ranks than 4 are understood
// as well.
int64_t channel_axis(const Shape& shape, const std::string& format);
// How many channels there are, which must be known.
int64_t channels_of(const Var& x, const std::string& format);

}  // namespace flotilla::layers
