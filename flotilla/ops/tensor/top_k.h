// flotilla/ops/tensor/top_k.h
//
// What top_k, top_k_v2, argsort and their gradients take from their attributes, on every device.

#pragma once

#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {

inline const IntSource kTopCount = {.tensor = "K", .attr = "k"};

template <typename Context>
bool top_k_takes_axis(const Context& c) {
  return c.op().type() != "top_k" && c.op().type() != "top_k_grad";
}

template <typename Context>
int64_t top_k_axis(const Context& c) {
  return top_k_takes_axis(c) ? c.template attr<int64_t>("axis") : -1;
}

}  // namespace flotilla::ops
