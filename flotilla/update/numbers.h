// flotilla/update/numbers.h
//
// The numbers that a step takes. C++ and CUDA compilers read this file, as they do the formulas: a
// formula is what a rule does to one element, with what is the same for all elements worked out. It
// stands in the header of its rule and is written once, for every device:
//
//   static F of(const Numbers<T>& n);                    from the settings, in the rule's order
//   void operator()(T& param, T grad, T& states...);     one element; an elementwise rule
//
// A layerwise rule has, too:
//
//   static double ratio(double param_squares, double other_squares, const Numbers<T>& n);
//   static auto step(const Numbers<T>& n);               the formula of its step, with that ratio
//   T propose(T param, T grad, T& states...) const;      what the step takes for the gradient
//
// The other squares are those of what is proposed or, where nothing is, of the gradient.

#pragma once

#include <cstddef>

#include "flotilla/base/host_device.h"

namespace flotilla::update {

inline constexpr size_t kMaxStates = 3, kMaxPowers = 2, kMaxSettings = 12;

template <typename T>
struct Numbers {
  double lr = 0;
  double ratio = 1;           // what measure() has answered
  T l2 = 0;                   // of rules that take it
  T powers[kMaxPowers] = {};  // base^t in step t, which counts from 1
  T settings[kMaxSettings] = {};

  // Setting i of the rule; a switch is 0 or 1.
  FLT_FN T operator[](size_t i) const { return settings[i]; }
};

}  // namespace flotilla::update
