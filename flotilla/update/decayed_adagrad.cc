// flotilla/update/decayed_adagrad.cc
//
//   moment = decay * moment + (1 - decay) * grad^2
//   param -= lr * grad / (sqrt(moment) + epsilon)

#include <cmath>

#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

enum { kDecay, kEpsilon };

const Rule& rule = define_rule(elementwise(
    {
        .name = "decayed_adagrad",
        .doc = "Divides each step by the root of a running mean of squared gradients.",
        .states = {{"moment", "Moment", "mean of squared gradients"}},
        .settings = {setting("decay", 0.95f, "what remains of Moment after a step"),
                     setting("epsilon", 1e-6f, "keeps the divisor above zero")},
        .inputs = {"Param", "Grad", "Moment"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      const T lr = static_cast<T>(n.lr), decay = n[kDecay], epsilon = n[kEpsilon];
      for (size_t i = 0; i < p.param.size(); ++i) {
        const T g = p.grad[i];
        T& moment = p.states[0][i];
        moment = decay * moment + (1 - decay) * g * g;
        p.param[i] -= lr * g / (std::sqrt(moment) + epsilon);
      }
    }));

}  // namespace
}  // namespace flotilla::update
