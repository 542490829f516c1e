// flotilla/ops/math/scaling.h
//
// What scale does to an element, as its attributes and inputs say it.

#pragma once

#include "flotilla/base/half.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops {

// a is the scale, b the bias that comes after it.
struct Line {
  FLT_FN static auto f(auto x, const auto& p) { return x * p.a + p.b; }
};

template <typename T>
struct Scaling {
  using C = Compute<T>;
  C scale = 1, bias = 0;
  bool bias_after = true;
  In<T> tensor = {};  // instead of scale

  explicit Scaling(PrepareContext& c)
      : scale(static_cast<C>(c.attr<float>("scale"))),
        bias(static_cast<C>(c.attr<float>("bias"))),
        bias_after(c.attr<bool>("bias_after_scale")) {
    if (c.has("ScaleTensor")) tensor = c.in<T>("ScaleTensor");
  }
  FLT_FN static UnaryForward<Line, C> line(C factor, C bias, bool bias_after) {
    return {{factor, static_cast<C>(bias_after ? bias : factor * bias)}};
  }
  UnaryForward<Line, C> get() const {
    return line(tensor ? widen(*tensor.data()) : scale, bias, bias_after);
  }
  bool does_nothing() const { return !tensor && scale == C{1} && bias == C{0}; }
};

}  // namespace flotilla::ops
