// flotilla/base/shape.h
//
// The extents of a tensor. -1 in a program means "known when it runs".

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace flotilla {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  // Refuses an axis that is not there.
  int64_t operator[](int64_t axis) const { return dims_[checked(axis)]; }
  int64_t& operator[](int64_t axis) { return dims_[checked(axis)]; }

  // Product of all extents; -1 where one is unknown. The empty shape holds one element.
  int64_t numel() const { return numel(0, rank()); }
  // Product of the extents of the axes [begin, end).
  int64_t numel(int64_t begin, int64_t end) const;

  bool known() const;
  // The axis counted from the front; refuses one outside [-rank, rank).
  int64_t axis(int64_t axis) const;

  void push_back(int64_t extent) { dims_.push_back(extent); }
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  bool operator==(const Shape&) const = default;

 private:
  size_t checked(int64_t axis) const {
    if (static_cast<size_t>(axis) >= dims_.size()) [[unlikely]]
      refuse_axis(axis);
    return static_cast<size_t>(axis);
  }
  [[noreturn]] void refuse_axis(int64_t axis) const;

  std::vector<int64_t> dims_;
};

// "[64, 784]"
std::string to_string(const Shape& shape);

}  // namespace flotilla

template <>
struct fmt::formatter<flotilla::Shape> : fmt::formatter<std::string_view> {
  auto format(const flotilla::Shape& shape, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(flotilla::to_string(shape), context);
  }
};
