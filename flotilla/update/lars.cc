// flotilla/update/lars.cc
//
// LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017):
//
//   rate = lr * coeff * |param| / (|grad| + decay * |param| + epsilon)
//   velocity = mu * velocity + rate * (grad + decay * param)
//   param -= velocity
//
// The rate is lr where the decay or a norm is zero.

#include <cmath>
#include <cstddef>

#include "flotilla/update/norm.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

enum { kMu, kCoeff, kDecay, kEpsilon, kMultiPrecision, kRescale };

template <typename T>
double measure(const Part<T>& p, const Numbers<T>& n) {
  const double p_norm = std::sqrt(sum_of_squares(std::span<const T>(p.param)));
  const double g_norm = std::sqrt(sum_of_squares(p.grad)) * std::abs(n[kRescale]);
  if (!(n[kDecay] > 0 && p_norm > 0 && g_norm > 0)) return 1;
  return n[kCoeff] * p_norm / (g_norm + static_cast<double>(n[kDecay]) * p_norm + n[kEpsilon]);
}

// Not compiled for several processors: one with fused multiply-add would round only once.
template <typename T>
void step(const Part<T>& part, const Numbers<T>& n) {
  T* __restrict p = part.param.data();
  T* __restrict v = part.states[0].data();
  const T* __restrict g = part.grad.data();
  const T mu = n[kMu], rescale = n[kRescale], decay = n[kDecay];
  const T rate = static_cast<T>(n.lr * n.ratio);
  for (size_t i = 0; i < part.param.size(); ++i) {
    v[i] = mu * v[i] + rate * (rescale * g[i] + decay * p[i]);
    p[i] -= v[i];
  }
}

template <typename T>
constexpr Steps<T> kSteps = {.step = step<T>, .measure = measure<T>};

const Rule& rule = []() -> const Rule& {
  Rule made = {
      .name = "lars_momentum",
      .doc = "Momentum, with steps scaled to the size of each parameter.",
      .states = {{"velocity", "Velocity", "like Param"}},
      .settings = {{.name = "mu",
                    .doc = "what remains of the velocity after a step",
                    .op = 0.0f,
                    .layer = 0.9f,
                    .table = 0.9f},
                   setting("lars_coeff", 0.001f,
                           "how far a step may go, relative to the parameter"),
                   setting("lars_weight_decay", std::vector<float>{0.0005f},
                           "decay, for all or for each"),
                   setting("epsilon", 0.0f, "keeps the divisor above zero"),
                   multi_precision(),
                   setting("rescale_grad", 1.0f, "what the gradient is multiplied with first")},
      .f32 = kSteps<float>,
      .f64 = kSteps<double>,
      .lists = true,
      .inputs = {"Param", "Grad", "Velocity"},
  };
  made.settings[kDecay].decays = true;
  return define_rule(std::move(made));
}();

}  // namespace
}  // namespace flotilla::update
