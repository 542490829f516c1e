// flotilla/ops/common/unary_formula.h
//
// An operator of one tensor, element by element, is a type that a C++ and a CUDA compiler read:
//
//   struct LeakyRelu {
//     static constexpr UnaryInfo kInfo = {"leaky_relu", "X, or alpha X where X < 0", kReadsX,
//                                         {{"alpha", 0.02f, "slope for X < 0"}}};
//     FLT_FN static auto f(auto x, const auto& p) { ... }                  // the result
//     FLT_FN static auto df(auto x, auto o, auto g, const auto& p) { ... } // dX; o is the result
//   };
//
// x, o and g are of one type T, p is Params<T>: the attributes in the order of kInfo. Literals are
// whole numbers or halves, which are the same in every T.

#pragma once

#include "flotilla/base/half.h"
#include "flotilla/base/host_device.h"

namespace flotilla::ops {

// What a derivative needs besides the gradient of the result.
enum UnaryReads { kReadsNothing = 0, kReadsX = 1, kReadsOut = 2 };

template <typename T>
struct Params {
  T a = 0, b = 0, c = 0;
};

struct UnaryParam {
  const char* name = nullptr;
  float initial = 0;
  const char* doc = "";
  const char* tensor = nullptr;  // a slot of one element that may stand in for the attribute
};

struct UnaryInfo {
  const char* type = "";
  const char* formula = "";  // Out = ...
  int reads = kReadsNothing;
  UnaryParam params[3] = {};
  int also_given = kReadsNothing;  // slots that Paddle's 2.6 gives the gradient op besides
  const char* x = "X";             // names of the slots
  const char* out = "Out";
};

// The formula as a function of elements, for map() and cuda::map(). C is the type that computes.
template <typename F, typename C>
struct UnaryForward {
  Params<C> p;
  template <typename T>
  FLT_FN T operator()(T x) const {
    return narrow<T>(F::f(widen(x), p));
  }
};

template <typename F, typename C>
struct UnaryBackward {
  Params<C> p;
  template <typename T>
  FLT_FN T operator()(T x, T o, T g) const {
    return narrow<T>(F::df(widen(x), widen(o), widen(g), p));
  }
};

}  // namespace flotilla::ops
