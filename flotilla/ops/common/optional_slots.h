// flotilla/ops/common/optional_slots.h
//
// Slots that may hold no variable: the handle is false then.

#pragma once

#include <string_view>

#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

template <typename T>
In<T> given(PrepareContext& c, std::string_view slot) {
  return c.has(slot) ? c.in<T>(slot) : In<T>();
}

template <typename T>
Out<T> wanted(PrepareContext& c, std::string_view slot, const Layout& layout = {}) {
  return c.has(slot) ? c.out<T>(slot, 0, layout) : Out<T>();
}

// The elements, when a Step runs; null where there is no variable.
template <typename Handle>
auto* data_or_null(const Handle& handle) {
  return handle ? handle.data() : nullptr;
}

}  // namespace flotilla::ops
