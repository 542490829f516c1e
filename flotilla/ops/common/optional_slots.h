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

}  // namespace flotilla::ops
