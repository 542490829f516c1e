// flotilla/ops/common/types.h
//
// A list of formulas: what a family of operators is on every device.
//
//   for_each(Activations{}, []<typename F>() { define_unary<F>(); });

#pragma once

namespace flotilla::ops {

template <typename... F>
struct Types {};

template <typename... F, typename Call>
void for_each(Types<F...>, Call call) {
  (call.template operator()<F>(), ...);
}

}  // namespace flotilla::ops
