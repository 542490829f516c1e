// flotilla/ops/nn/slope_sharing.h
//
// Which elements of X share a slope of prelu.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/error.h"
#include "flotilla/base/shape.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {

// Element i of X has the number i / inner % count of Alpha.
struct Sharing {
  int64_t count = 1, inner = 1;

  int64_t of(int64_t i) const { return i / inner % count; }
};

template <typename Context>
Sharing sharing_of(const Context& c, const Shape& x) {
  const auto mode = c.template attr<std::string>("mode");
  if (mode == "all") return {1, x.numel()};
  if (mode == "element") return {x.numel(1, x.rank()), 1};
  require(mode == "channel", "mode must be all, channel or element, but is \"{}\"", mode);
  const DataFormat format(c.template attr<std::string>("data_format"));
  const int64_t axis = format.channel_axis(x.rank());
  require(axis < x.rank(), "X of shape {} has no channels", x);
  return {x[axis], x.numel(axis + 1, x.rank())};
}

}  // namespace flotilla::ops
