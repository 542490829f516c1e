// flotilla/ops/common/loss_formulas.h
//
// Losses of a prediction x and a label y, element by element. A formula gives the names of its
// slots, the loss, and the derivative by x; `p` holds its attributes.

#pragma once

#include "flotilla/base/half.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/common/types.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops::loss {

struct LossInfo {
  const char* type = "";
  const char* doc = "";
  const char* x = "";
  const char* y = "";
  const char* out = "";
  UnaryParam params[3] = {};
  bool columns = false;  // whether x and y must be [rows, 1]
};

// -y log(x + epsilon) - (1 - y) log(1 - x + epsilon)
struct LogLoss {
  static constexpr LossInfo kInfo = {
      "log_loss",  "Minus the logarithm of the probability of labels that are 0 or 1.",
      "Predicted", "Labels",
      "Loss",      {{"epsilon", 1e-4f, "keeps the logarithms finite"}}};
  FLT_FN static auto f(auto x, auto y, const auto& p) {
    return -y * log_of(x + p.a) - (1 - y) * log_of(1 - x + p.a);
  }
  FLT_FN static auto slope(auto x, auto y, const auto& p) {
    return (1 - y) / (1 - x + p.a) - y / (x + p.a);
  }
};

// -y log(x) - (1 - y) log(1 - x), where no logarithm is below -100
struct BceLoss {
  static constexpr LossInfo kInfo = {
      "bce_loss", "The cross entropy of probabilities and labels between 0 and 1.", "X", "Label",
      "Out"};
  template <typename T>
  FLT_FN static T f(T x, T y, const Params<T>&) {
    return -y * larger_of(log_of(x), T{-100}) - (1 - y) * larger_of(log_of(1 - x), T{-100});
  }
  template <typename T>
  FLT_FN static T slope(T x, T y, const Params<T>&) {
    return (x - y) / larger_of((1 - x) * x, T{1e-12});
  }
};

// max(0, 1 - (2 y - 1) x)
struct HingeLoss {
  static constexpr LossInfo kInfo = {"hinge_loss",
                                     "How far predictions are on the wrong side of a margin.",
                                     "Logits", "Labels", "Loss"};
  template <typename T>
  FLT_FN static T f(T x, T y, const Params<T>&) {
    return larger_of(T{0}, 1 - (2 * y - 1) * x);
  }
  FLT_FN static auto slope(auto x, auto y, const auto&) {
    return 1 - (2 * y - 1) * x > 0 ? 1 - 2 * y : 0;
  }
};

// A click and a teacher's score in one label, both told by sigmoid(x). With s(z) = log(1 + exp(x))
// - z x, the cross entropy of sigmoid(x) and z:
//
//   y in          meaning                         loss
//   [.., -1)      no click, no teacher            s(0)
//   [-1, 0)       a click, no teacher             s(1)
//   [0, 1)        no click, score y               s(0) + s(y)
//   [1, ..)       a click, score y - 1            s(1) + s(y - 1)
struct TeacherStudentLoss {
  static constexpr LossInfo kInfo = {
      "teacher_student_sigmoid_loss",
      "The cross entropies of a click and of a teacher's score.",
      "X",
      "Label",
      "Y",
      {{"soft_max_up_bound", 15.0f, "from where on there is no gradient"},
       {"soft_max_lower_bound", -15.0f, "up to where there is none"}},
      true};
  // How many cross entropies a label asks for, and the sum of what they compare with.
  FLT_FN static int count(auto y) { return y < 0 ? 1 : 2; }
  FLT_FN static auto sum(auto y) { return y < -1 ? 0 : y < 0 ? 1 : y; }

  FLT_FN static auto f(auto x, auto y, const auto&) {
    return count(y) * softplus_of(x) - sum(y) * x;
  }
  FLT_FN static auto slope(auto x, auto y, const auto& p) {
    return x <= p.b || x >= p.a ? 0 : count(y) * sigmoid_of(x) - sum(y);
  }
};

// The cross entropy of sigmoid(x) and y, whose logarithms are multiplied by w: with w = 1,
// max(x, 0) - x y + log(1 + exp(-|x|)).
struct SigmoidCrossEntropy {
  template <typename T>
  FLT_FN static T f(T x, T y, T w) {
    // Not softplus_of(): log1p is no vector code.
    const T softplus = larger_of(-x, T{0}) + log_of(1 + exp_of(-std::abs(x)));
    return (1 - y) * x + w * softplus;
  }
  template <typename T>
  FLT_FN static T slope(T x, T y, T w) {
    return 1 - y - w * sigmoid_of(-x);
  }
};

// Of one class of a row, for a logit x towards what is right: the class of the row or, with the
// other sign, that it is not the class. With q the probability of that, -(1 - q)^gamma log(q).
struct FocalLoss {
  template <typename T>
  FLT_FN static T log_sigmoid(T x) {
    return -exact::softplus(-x);
  }
  template <typename T>
  FLT_FN static T f(T x, T gamma) {
    return -std::pow(std::exp(log_sigmoid(-x)), gamma) * log_sigmoid(x);
  }
  // (1 - q)^gamma (gamma q log(q) - (1 - q))
  template <typename T>
  FLT_FN static T slope(T x, T gamma) {
    const T log_right = log_sigmoid(x), wrong = std::exp(log_sigmoid(-x));
    return std::pow(wrong, gamma) * (gamma * std::exp(log_right) * log_right - wrong);
  }
};

using PointwiseLosses = Types<LogLoss, BceLoss, HingeLoss, TeacherStudentLoss>;

// The formulas as functions of elements, for map() and cuda::map().
template <typename F, typename C>
struct LossForward {
  Params<C> p;
  template <typename T>
  FLT_FN T operator()(T x, T y) const {
    return narrow<T>(F::f(widen(x), widen(y), p));
  }
};

template <typename F, typename C>
struct LossBackward {
  Params<C> p;
  template <typename T>
  FLT_FN T operator()(T x, T y, T g) const {
    return narrow<T>(F::slope(widen(x), widen(y), p) * widen(g));
  }
};

}  // namespace flotilla::ops::loss
