// flotilla/ops/fused/fc_problem.h
//
// What fc is, for the kernels of every device.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/shape.h"
#include "flotilla/ops/common/activation_formulas.h"

namespace flotilla::ops {

enum class FcAct { kNone, kRelu, kTanh, kSigmoid };

inline FcAct fc_act_of(const std::string& name) {
  if (name.empty() || name == "identity") return FcAct::kNone;
  if (name == "relu") return FcAct::kRelu;
  if (name == "tanh") return FcAct::kTanh;
  if (name == "sigmoid") return FcAct::kSigmoid;
  refuse("activation_type of fc must be relu, tanh, sigmoid or empty, but is \"{}\"", name);
}

struct FcSizes {
  int64_t m = 0, k = 0, n = 0;
};

template <typename Context>
FcSizes fc_sizes_of(const Shape& input, const Shape& w, const Context& c) {
  const int64_t rows = c.template attr<int64_t>("in_num_col_dims");
  return {input.numel(0, rows), input.numel(rows, input.rank()), w[1]};
}

struct NoAct {
  FLT_FN static float f(float x, const Params<float>&) { return x; }
  FLT_FN static float df(float, float, float g, const Params<float>&) { return g; }
};

// Calls f with the formula of the activation.
template <typename F>
void with_formula(FcAct act, F f) {
  if (act == FcAct::kRelu) return f(unary::Relu());
  if (act == FcAct::kTanh) return f(unary::Tanh());
  if (act == FcAct::kSigmoid) return f(unary::Sigmoid());
  f(NoAct());
}

}  // namespace flotilla::ops
