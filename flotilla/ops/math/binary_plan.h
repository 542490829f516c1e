// flotilla/ops/math/binary_plan.h
//
// How the operands of a binary operator meet, on every device.

#pragma once

#include <initializer_list>
#include <string_view>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/walk.h"

namespace flotilla::ops {

// How X and Y of a binary op meet: the layout of the result and the extents of both as axes of it.
struct BinaryPlan {
  Shape out = {};
  Layout layout = {};
  Shape x = {}, y = {};

  bool x_repeated() const { return !(x == out); }
  bool y_repeated() const { return !(y == out); }
  bool padded() const { return layout.physical_numel(out) != out.numel(); }
  Walk walk() const { return Walk(out, layout, x, y); }
};

// Decides the layout: the first one of `leads`, slots whose tensors have the result's shape, that
// is not plain. `keeps_zero`: padding stays zero, f(0, 0) = 0.
BinaryPlan plan_binary(const PrepareContext& c, const Shape& out,
                       std::initializer_list<std::string_view> leads, bool keeps_zero);

}  // namespace flotilla::ops
