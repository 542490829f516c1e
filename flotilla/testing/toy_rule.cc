// flotilla/testing/toy_rule.cc
//
// An update rule that exists in test binaries only, and in this file alone: Signum (Bernstein et
// al., "signSGD", 2018).
//
//   moment = beta * moment + (1 - beta) * grad
//   param -= lr * sign(moment)

#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

enum { kBeta };

const Rule& toy_signum = define_rule(elementwise(
    {
        .name = "toy_signum",
        .doc = "Moves each element by the learning rate, against the mean of its gradients.",
        .states = {{"mean", "Mean", "mean of gradients"}},
        .settings = {setting("beta", 0.9f, "what remains of the mean after a step")},
        .sparse = Sparse::kStay,
        .fuses = true,
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      for (size_t i = 0; i < p.param.size(); ++i) {
        T& mean = p.states[0][i];
        mean = n[kBeta] * mean + (1 - n[kBeta]) * p.grad[i];
        p.param[i] -= static_cast<T>(n.lr) * static_cast<T>((mean > 0) - (mean < 0));
      }
    }));

}  // namespace
}  // namespace flotilla::update
