#include "flotilla/ops/common/walk.h"

#include <algorithm>

#include "flotilla/base/error.h"

namespace flotilla::ops {
namespace {

using Ints = std::vector<int64_t>;

// An axis as it lies in memory: a part of axis `of`, whose index it counts in steps.
struct StoredAxis {
  int64_t of = 0;
  int64_t extent = 1;
  int64_t step = 1;
};

std::vector<StoredAxis> stored_axes(const Shape& shape, const Layout& layout) {
  const Shape padded = layout.padded(shape);
  Ints block(static_cast<size_t>(shape.rank()), 1);
  for (const Layout::Inner& inner : layout.inner()) {
    block[static_cast<size_t>(inner.axis)] *= inner.size;
  }
  std::vector<StoredAxis> axes;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t a = layout.plain() ? i : layout.order()[static_cast<size_t>(i)];
    const int64_t size = block[static_cast<size_t>(a)];
    axes.push_back({a, padded[a] / size, size});
  }
  for (const Layout::Inner& inner : layout.inner()) {
    int64_t& rest = block[static_cast<size_t>(inner.axis)];
    rest /= inner.size;
    axes.push_back({inner.axis, inner.size, rest});
  }
  return axes;
}

// By how many elements an operand moves along each stored axis.
Ints strides_of(const Shape& operand, const Shape& out, const std::vector<StoredAxis>& axes) {
  Ints strides(axes.size());
  if (operand == out) {
    int64_t stride = 1;
    for (size_t i = axes.size(); i-- > 0; stride *= axes[i].extent) strides[i] = stride;
    return strides;
  }
  Ints dense(static_cast<size_t>(operand.rank()));
  int64_t stride = 1;
  for (int64_t a = operand.rank() - 1; a >= 0; stride *= operand[a], --a) {
    dense[static_cast<size_t>(a)] = operand[a] == 1 ? 0 : stride;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    strides[i] = dense[static_cast<size_t>(axes[i].of)] * axes[i].step;
  }
  return strides;
}

}  // namespace

Shape aligned(const Shape& operand, int64_t axis, int64_t rank) {
  Ints dims = operand.dims();
  const auto fits = [&] { return std::max<int64_t>(axis, 0) + std::ssize(dims) <= rank; };
  while (!fits() && !dims.empty() && dims.back() == 1) dims.pop_back();
  if (axis == -1) axis = rank - std::ssize(dims);
  invariant(axis >= 0 && fits(), "an operand of shape {} does not fit into rank {} at axis {}",
            operand, rank, axis);
  Shape full(Ints(static_cast<size_t>(rank), 1));
  for (size_t a = 0; a < dims.size(); ++a) full[axis + static_cast<int64_t>(a)] = dims[a];
  return full;
}

AlignedPair aligned_pair(const Shape& x, const Shape& y, int64_t axis, int64_t rank) {
  const bool x_stands_in_y = rank > x.rank();
  return {aligned(x, x_stands_in_y ? axis : -1, rank), aligned(y, x_stands_in_y ? -1 : axis, rank)};
}

std::vector<WalkAxis> walk_axes(const Shape& out, const Layout& layout, const Shape& x,
                                const Shape& y) {
  const std::vector<StoredAxis> stored = stored_axes(out, layout);
  const Ints x_strides = strides_of(x, out, stored), y_strides = strides_of(y, out, stored);
  std::vector<WalkAxis> axes;
  for (size_t i = 0; i < stored.size(); ++i) {
    const WalkAxis axis = {stored[i].extent, x_strides[i], y_strides[i]};
    if (axis.extent == 1) continue;
    const bool even = !axes.empty() && axes.back().x == axis.x * axis.extent &&
                      axes.back().y == axis.y * axis.extent;
    if (even) {
      axes.back() = {axes.back().extent * axis.extent, axis.x, axis.y};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

Walk::Walk(const Shape& out, const Layout& layout, const Shape& x, const Shape& y)
    : axes_(walk_axes(out, layout, x, y)), outer_(axes_) {
  for (WalkAxis* inner : {&column_, &row_}) {
    if (outer_.empty()) break;
    *inner = outer_.back();
    outer_.pop_back();
  }
  for (const WalkAxis& axis : outer_) outer_count_ *= axis.extent;
}

WalkBlock Walk::block_at(int64_t row, int64_t end) const {
  const int64_t within = row % row_.extent;
  WalkBlock block{.out = row * column_.extent,
                  .x = within * row_.x,
                  .y = within * row_.y,
                  .rows = std::min(end - row, row_.extent - within),
                  .columns = column_.extent};
  int64_t rest = row / row_.extent;
  for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
    block.x += rest % axis->extent * axis->x;
    block.y += rest % axis->extent * axis->y;
    rest /= axis->extent;
  }
  return block;
}

}  // namespace flotilla::ops
