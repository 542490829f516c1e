// flotilla/ops/nn/pool_rules.h
//
// The windows that the attributes of pools describe, for the kernels of every device.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flotilla/ops/nn/pool_axis.h"

namespace flotilla::ops {

// Of pool2d, down and right. `input` has channels first.
template <typename Context>
std::pair<PoolRule, PoolRule> pool2d_rules(const Context& c, const Shape& input) {
  using Ints = std::vector<int64_t>;
  Ints sizes = c.template attr<Ints>("ksize");
  require(sizes.size() == 2, "ksize must hold 2 numbers, but holds {}", sizes.size());
  const bool global = c.template attr<bool>("global_pooling");
  const bool adaptive = c.template attr<bool>("adaptive");
  const bool exclusive = c.template attr<bool>("exclusive");
  const bool ceil = c.template attr<bool>("ceil_mode");
  WindowAttrs attrs = {.strides = c.template attr<Ints>("strides"),
                       .paddings = c.template attr<Ints>("paddings"),
                       .algorithm = c.template attr<std::string>("padding_algorithm")};
  if (global) {
    sizes = {input[2], input[3]};
    attrs.paddings = {0, 0};
    attrs.algorithm = "EXPLICIT";
  }
  const std::vector<Window> w = windows({input[2], input[3]}, sizes, attrs);
  const auto axis = [&](size_t a) {
    const int64_t extent = input[static_cast<int64_t>(a) + 2];
    if (adaptive) return adaptive_rule(extent, w[a].size);
    return pool_rule(extent, w[a], global ? 1 : w[a].pool_places(extent, ceil), exclusive);
  };
  return {axis(0), axis(1)};
}

// Of max_pool2d_with_index, along one axis.
template <typename Context>
PoolRule indexed_pool_rule(const Context& c, const Shape& x, size_t axis) {
  const int64_t extent = x[static_cast<int64_t>(axis) + 2];
  if (c.template attr<bool>("global_pooling")) return adaptive_rule(extent, 1);
  const bool adaptive = c.template attr<bool>("adaptive");
  const int64_t padding = of_axis(c, "paddings", axis, 0);
  const Window w = {.size = of_axis(c, "ksize", axis, 1),
                    .stride = of_axis(c, "strides", axis, 1),
                    .pad_begin = padding,
                    .pad_end = padding};
  require(adaptive || padding < w.size,
          "paddings must lie in [0, {}), the size of a window, but hold {}", w.size, padding);
  if (adaptive) return adaptive_rule(extent, w.size);
  require(w.pool_places(extent, false) != 0,
          "windows of {} do not fit into {} elements with {} around them", w.size, extent, padding);
  return pool_rule(extent, w, w.pool_places(extent, false), true);
}

}  // namespace flotilla::ops
