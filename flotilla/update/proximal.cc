#include "flotilla/update/proximal.h"

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

std::vector<Setting> penalties() {
  return {setting("l1", 0.0f, "strength of the L1 penalty"),
          setting("l2", 0.0f, "strength of the L2 penalty")};
}

const Rule& descent = define_rule(elementwise(
    {
        .name = "proximal_gd",
        .doc = "Subtracts the gradient, times the learning rate, and draws the parameter to zero.",
        .settings = penalties(),
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      update_each(ProximalGdFormula<T>::of(n), p.param.size(), p.param.data(), p.grad.data());
    }));

const Rule& adagrad = define_rule(elementwise(
    {
        .name = "proximal_adagrad",
        .doc = "Divides each step by the root of the sum of all squared gradients so far, and "
               "draws the parameter to zero.",
        .states = {{"moment", "Moment", "sum of squared gradients"}},
        .settings = penalties(),
        .inputs = {"Param", "Moment"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      update_each(ProximalAdagradFormula<T>::of(n), p.param.size(), p.param.data(), p.grad.data(),
                  p.states[0].data());
    }));

}  // namespace
}  // namespace flotilla::update
