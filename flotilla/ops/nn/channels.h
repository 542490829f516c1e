// flotilla/ops/nn/channels.h
//
// Where the channels of an image stand: [N, C, H, W] or [N, H, W, C]. Kernels think in channels
// first; a program of the other format has the same elements under another name.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"

namespace flotilla::ops {

class DataFormat {
 public:
  // `text`: NCHW, NHWC, and their like of other ranks; "AnyLayout" means channels first.
  explicit DataFormat(const std::string& text) : last_(text.size() > 1 && text.back() == 'C') {
    require(text == "AnyLayout" || text.starts_with("NC") || (last_ && text.front() == 'N'),
            "a data format is NCHW or NHWC, but \"{}\" was given", text);
  }

  bool channels_last() const { return last_; }
  int64_t channel_axis(int64_t rank) const { return last_ ? rank - 1 : 1; }

  // The program's shape or layout, with axes in the order channels first; and back.
  Shape first(const Shape& shape) const { return permuted(shape, from(shape.rank())); }
  Shape program(const Shape& shape) const { return permuted(shape, to(shape.rank())); }
  Layout first(const Layout& layout, int64_t rank) const { return renamed(layout, to(rank)); }
  Layout program(const Layout& layout, int64_t rank) const { return renamed(layout, from(rank)); }

 private:
  using Axes = std::vector<int32_t>;

  // Entry a: the program's axis that is axis a when channels come first.
  Axes from(int64_t rank) const {
    Axes axes = identity(rank);
    if (last_ && rank > 2) {
      axes[1] = static_cast<int32_t>(rank - 1);
      for (size_t a = 2; a < axes.size(); ++a) axes[a] = static_cast<int32_t>(a - 1);
    }
    return axes;
  }
  // The inverse of from().
  Axes to(int64_t rank) const {
    const Axes axes = from(rank);
    Axes inverse(axes.size());
    for (size_t a = 0; a < axes.size(); ++a) {
      inverse[static_cast<size_t>(axes[a])] = static_cast<int32_t>(a);
    }
    return inverse;
  }
  static Axes identity(int64_t rank) {
    Axes axes;
    for (int32_t a = 0; a < rank; ++a) axes.push_back(a);
    return axes;
  }
  static Shape permuted(const Shape& shape, const Axes& axes) {
    Shape out;
    for (const int32_t axis : axes) out.push_back(shape[axis]);
    return out;
  }
  static Layout renamed(const Layout& layout, const Axes& axes) {
    Axes order;
    for (const int32_t axis :
         layout.plain() ? identity(static_cast<int64_t>(axes.size())) : layout.order()) {
      order.push_back(axes[static_cast<size_t>(axis)]);
    }
    std::vector<Layout::Inner> inner = layout.inner();
    for (Layout::Inner& block : inner) block.axis = axes[static_cast<size_t>(block.axis)];
    return Layout(std::move(order), std::move(inner));
  }

  bool last_;
};

// A [N, C, spatial...] tensor in memory: [batch][blocks][spatial][lanes], where a channel c lies in
// block c / lanes at lane c % lanes. All the layouts that convolutions use are of this form.
struct ChannelBlocks {
  int64_t batch = 1, channels = 1, blocks = 1, spatial = 1, lanes = 1;

  int64_t numel() const { return batch * blocks * spatial * lanes; }
};

// Nullopt where the layout is not of that form. `shape` and `layout` have channels first.
inline std::optional<ChannelBlocks> channel_blocks(const Shape& shape, const Layout& layout) {
  ChannelBlocks b = {.batch = shape[0],
                     .channels = shape.rank() > 1 ? shape[1] : 1,
                     .spatial = shape.numel(std::min<int64_t>(2, shape.rank()), shape.rank())};
  b.blocks = b.channels;
  if (layout.plain()) return b;
  const std::vector<int32_t>& order = layout.order();
  const int64_t rank = shape.rank();
  const auto in_order = [&](int64_t from, int64_t begin, int64_t end) {
    for (int64_t a = begin; a < end; ++a, ++from) {
      if (order[static_cast<size_t>(from)] != a) return false;
    }
    return true;
  };
  if (layout.inner().empty()) {
    // "acdb"
    if (order.front() != 0 || order.back() != 1 || !in_order(1, 2, rank)) return {};
    b.blocks = 1;
    b.lanes = b.channels;
    return b;
  }
  // "aBcd16b"
  if (layout.inner().size() != 1 || layout.inner()[0].axis != 1 || !in_order(0, 0, rank)) return {};
  b.lanes = layout.inner()[0].size;
  b.blocks = (b.channels + b.lanes - 1) / b.lanes;
  return b;
}

}  // namespace flotilla::ops
