// flotilla/update/loop.h
//
// The loop over the elements of a part, for rules whose formula takes all states in their order.

#pragma once

#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {

// Without kGrad the gradient is zero everywhere.
template <bool kGrad = true, typename F, typename T, typename... S>
FLT_UPDATE_BODY void update_each(const F& formula, size_t n, T* __restrict param,
                                 const T* __restrict grad, S* __restrict... states) {
  const F f = formula;  // a copy lies in registers: nothing that is written can change it
  for (size_t i = 0; i < n; ++i) f(param[i], kGrad ? grad[i] : T{0}, states[i]...);
}

}  // namespace flotilla::update
