// flotilla/ops/tensor/written_constant.h
//
// The number that fills a tensor, as attributes say it.

#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "flotilla/base/error.h"

namespace flotilla::ops {

// A constant as it was written: `value` is a float, whose 24 bits are too few for large integers
// and doubles, so `str_value` stands before it where it is there.
struct Constant {
  double number = 0;
  int64_t whole = 0;  // the same where it is a whole number that fits
  bool is_whole = false;

  template <typename T>
  T as() const {
    if constexpr (std::is_same_v<T, bool>) return number != 0;
    if constexpr (std::is_integral_v<T>) {
      require(is_whole || std::abs(number) < 0x1p63, "{} is no whole number of 64 bits", number);
      return static_cast<T>(is_whole ? whole : static_cast<int64_t>(number));
    }
    return static_cast<T>(number);
  }
};

inline Constant constant_of(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 0x1p62;
  return {number, whole ? static_cast<int64_t>(number) : 0, whole};
}

inline Constant parse_constant(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  Constant made;
  const std::from_chars_result whole = std::from_chars(begin, end, made.whole);
  if (whole.ptr == end && whole.ec == std::errc()) {
    made.number = static_cast<double>(made.whole);
    made.is_whole = true;
    return made;
  }
  const std::from_chars_result read = std::from_chars(begin, end, made.number);
  require(read.ptr == end && !text.empty(), "str_value must be a number, but is \"{}\"", text);
  return constant_of(made.number);
}

template <typename Context>
Constant constant_in(const Context& c) {
  const std::string text = c.template attr<std::string>("str_value");
  return text.empty() ? constant_of(c.template attr<float>("value")) : parse_constant(text);
}

}  // namespace flotilla::ops
