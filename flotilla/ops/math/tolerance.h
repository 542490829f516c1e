// flotilla/ops/math/tolerance.h
//
// When two numbers are close, and how far they may differ.

#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "flotilla/base/host_device.h"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {

struct Close {
  double relative = 0, absolute = 0;
  bool equal_nan = false;

  template <typename T>
  FLT_FN bool operator()(T x, T y) const {
    const double a = static_cast<double>(x), b = static_cast<double>(y);
    const bool both_nan = a != a && b != b;
    return a == b || std::abs(a - b) <= absolute + relative * std::abs(b) ||
           (equal_nan && both_nan);
  }
};

// A tolerance is text in 2.x, so that it is exact, and a number in 1.8; a tensor stands before it.
class Tolerance {
 public:
  Tolerance(PrepareContext& c, std::string_view slot, std::string_view attr, double otherwise)
      : given_(given<double>(c, slot)), number_(otherwise) {
    const Attr* found = c.op().find_attr(attr);
    if (found == nullptr) return;
    const std::string* text = std::get_if<std::string>(found);
    if (text == nullptr) {
      number_ = attr_as<double>(*found, attr);
      return;
    }
    char* end = nullptr;
    number_ = std::strtod(text->c_str(), &end);
    require(!text->empty() && *end == 0, "{} must be a number, but is \"{}\"", attr, *text);
  }
  double get() const { return given_ ? *given_.data() : number_; }
  // For code on a GPU: the number that is meant unless a tensor is there.
  double number() const { return number_; }
  const double* tensor() const { return given_ ? given_.data() : nullptr; }

 private:
  In<double> given_;
  double number_ = 0;
};

}  // namespace flotilla::ops
