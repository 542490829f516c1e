#include "flotilla/update/decayed_adagrad.h"

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

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
      update_each(DecayedAdagradFormula<T>::of(n), p.param.size(), p.param.data(), p.grad.data(),
                  p.states[0].data());
    }));

}  // namespace
}  // namespace flotilla::update
