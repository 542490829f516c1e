// flotilla/base/layout.h
//
// How the elements of a tensor lie in memory: row by row, or cut into blocks as oneDNN wants it.
// A layout says nothing of extents; together with a shape it gives an address for each element.
//
// Written like oneDNN's tags: the outer axes, outermost first, a capital letter where the axis is
// also cut into inner blocks, then the inner blocks, outermost first. "aBcd16b" is a 4-d tensor
// whose axis 1 is cut into blocks of 16 that lie innermost.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/shape.h"

namespace flotilla {

class Layout {
 public:
  struct Inner {
    int32_t axis = 0;
    int32_t size = 1;
    bool operator==(const Inner&) const = default;
  };

  // Row major for any rank.
  Layout() = default;
  // REQUIRES: `order` is a permutation of the axes.
  Layout(std::vector<int32_t> order, std::vector<Inner> inner);

  // Row major: the layout of numpy arrays, files, and kernels that do not say otherwise.
  bool plain() const { return order_.empty() && inner_.empty(); }

  // Outer axes, outermost first; empty for plain.
  const std::vector<int32_t>& order() const { return order_; }
  const std::vector<Inner>& inner() const { return inner_; }

  // `shape` with each axis rounded up to its blocks: what is really stored. Padding holds zeros.
  Shape padded(const Shape& shape) const;
  int64_t physical_numel(const Shape& shape) const;
  // Stride, in elements, of each axis' outer index. REQUIRES: shape.known()
  std::vector<int64_t> outer_strides(const Shape& shape) const;
  // Where the element with these indices lies, in elements from the start.
  int64_t offset(const Shape& shape, const std::vector<int64_t>& index) const;

  bool operator==(const Layout&) const = default;

 private:
  std::vector<int32_t> order_;
  std::vector<Inner> inner_;
};

// "plain", "acdb", "aBcd16b".
std::string to_string(const Layout& layout);
Layout parse_layout(std::string_view text);

}  // namespace flotilla

template <>
struct fmt::formatter<flotilla::Layout> : fmt::formatter<std::string_view> {
  auto format(const flotilla::Layout& layout, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(flotilla::to_string(layout), context);
  }
};
