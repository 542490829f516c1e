// flotilla/ops/common/loss_formulas.h
//
// Losses of a prediction x and a label y, element by element. A formula gives the names of its
// slots, the loss, and the derivative by x; `e` is the attribute epsilon where there is one.

#pragma once

#include "flotilla/base/half.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"

namespace flotilla::ops::loss {

struct LossInfo {
  const char* type = "";
  const char* doc = "";
  const char* x = "";
  const char* y = "";
  const char* out = "";
  bool has_epsilon = false;
};

// -y log(x + epsilon) - (1 - y) log(1 - x + epsilon)
struct LogLoss {
  static constexpr LossInfo kInfo = {
      "log_loss",  "Minus the logarithm of the probability of labels that are 0 or 1.",
      "Predicted", "Labels",
      "Loss",      true};
  FLT_FN static auto f(auto x, auto y, auto e) {
    return -y * log_of(x + e) - (1 - y) * log_of(1 - x + e);
  }
  FLT_FN static auto slope(auto x, auto y, auto e) { return (1 - y) / (1 - x + e) - y / (x + e); }
};

// -y log(x) - (1 - y) log(1 - x), where no logarithm is below -100
struct BceLoss {
  static constexpr LossInfo kInfo = {
      "bce_loss", "The cross entropy of probabilities and labels between 0 and 1.", "X", "Label",
      "Out"};
  template <typename T>
  FLT_FN static T f(T x, T y, T) {
    return -y * larger_of(log_of(x), T{-100}) - (1 - y) * larger_of(log_of(1 - x), T{-100});
  }
  template <typename T>
  FLT_FN static T slope(T x, T y, T) {
    return (x - y) / larger_of((1 - x) * x, T{1e-12});
  }
};

// max(0, 1 - (2 y - 1) x)
struct HingeLoss {
  static constexpr LossInfo kInfo = {"hinge_loss",
                                     "How far predictions are on the wrong side of a margin.",
                                     "Logits", "Labels", "Loss"};
  template <typename T>
  FLT_FN static T f(T x, T y, T) {
    return larger_of(T{0}, 1 - (2 * y - 1) * x);
  }
  FLT_FN static auto slope(auto x, auto y, auto) { return 1 - (2 * y - 1) * x > 0 ? 1 - 2 * y : 0; }
};

using PointwiseLosses = Types<LogLoss, BceLoss, HingeLoss>;

// The formulas as functions of elements, for map() and cuda::map().
template <typename F, typename C>
struct LossForward {
  C e;
  template <typename T>
  FLT_FN T operator()(T x, T y) const {
    return narrow<T>(F::f(widen(x), widen(y), e));
  }
};

template <typename F, typename C>
struct LossBackward {
  C e;
  template <typename T>
  FLT_FN T operator()(T x, T y, T g) const {
    return narrow<T>(F::slope(widen(x), widen(y), e) * widen(g));
  }
};

}  // namespace flotilla::ops::loss
