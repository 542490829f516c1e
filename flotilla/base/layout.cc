#include "flotilla/base/layout.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

bool is_identity(const std::vector<int32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

}  // namespace

Layout::Layout(std::vector<int32_t> order, std::vector<Inner> inner)
    : order_(std::move(order)), inner_(std::move(inner)) {
  std::vector<int32_t> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  require(is_identity(sorted), "a layout's order must name each axis once, but is [{}]",
          fmt::join(order_, ", "));
  for (const Inner& block : inner_) {
    require(block.size > 0 && block.axis >= 0 && block.axis < static_cast<int32_t>(order_.size()),
            "a block of axis {} and size {} does not fit a layout of rank {}", block.axis,
            block.size, order_.size());
  }
  // One way to write each layout, so that equality is sameness.
  if (inner_.empty() && is_identity(order_)) order_.clear();
}

Shape Layout::padded(const Shape& shape) const {
  std::vector<int64_t> block(static_cast<size_t>(shape.rank()), 1);
  for (const Inner& inner : inner_) block[static_cast<size_t>(inner.axis)] *= inner.size;
  Shape padded = shape;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    const int64_t size = block[static_cast<size_t>(a)];
    padded[a] = (shape[a] + size - 1) / size * size;
  }
  return padded;
}

int64_t Layout::physical_numel(const Shape& shape) const {
  return plain() ? shape.numel() : padded(shape).numel();
}

std::vector<int64_t> Layout::outer_strides(const Shape& shape) const {
  const Shape full = padded(shape);
  std::vector<int64_t> blocks(static_cast<size_t>(shape.rank()), 1);
  int64_t stride = 1;
  for (const Inner& inner : inner_) {
    blocks[static_cast<size_t>(inner.axis)] *= inner.size;
    stride *= inner.size;
  }
  std::vector<int32_t> order = order_;
  if (order.empty()) {
    order.resize(static_cast<size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[static_cast<size_t>(*axis)] = stride;
    stride *= full[*axis] / blocks[static_cast<size_t>(*axis)];
  }
  return strides;
}

int64_t Layout::offset(const Shape& shape, const std::vector<int64_t>& index) const {
  const std::vector<int64_t> strides = outer_strides(shape);
  std::vector<int64_t> rest = index;
  int64_t offset = 0, stride = 1;
  for (auto inner = inner_.rbegin(); inner != inner_.rend(); ++inner) {
    int64_t& at = rest[static_cast<size_t>(inner->axis)];
    offset += at % inner->size * stride;
    at /= inner->size;
    stride *= inner->size;
  }
  for (size_t a = 0; a < rest.size(); ++a) offset += rest[a] * strides[a];
  return offset;
}

std::string to_string(const Layout& layout) {
  if (layout.plain()) return "plain";
  std::string text;
  for (const int32_t axis : layout.order()) {
    const bool cut = std::any_of(layout.inner().begin(), layout.inner().end(),
                                 [=](const Layout::Inner& inner) { return inner.axis == axis; });
    text += static_cast<char>((cut ? 'A' : 'a') + axis);
  }
  for (const Layout::Inner& inner : layout.inner()) {
    text += fmt::format("{}{}", inner.size, static_cast<char>('a' + inner.axis));
  }
  return text;
}

Layout parse_layout(std::string_view text) {
  if (text == "plain") return {};
  std::vector<int32_t> order;
  std::vector<Layout::Inner> inner;
  int32_t size = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      size = size * 10 + (c - '0');
    } else {
      const int32_t axis = std::tolower(static_cast<unsigned char>(c)) - 'a';
      if (size > 0)
        inner.push_back({axis, size});
      else
        order.push_back(axis);
      size = 0;
    }
  }
  return Layout(std::move(order), std::move(inner));
}

}  // namespace flotilla
