#include "flotilla/update/adagrad.h"

#include <cstddef>

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* m, size_t n,
                            const Adagrad<float>& rule) {
  update_each(AdagradFormula<float>{rule}, n, p, g, m);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* m, size_t n,
                            const Adagrad<double>& rule) {
  update_each(AdagradFormula<double>{rule}, n, p, g, m);
}

}  // namespace

void adagrad(std::span<float> param, std::span<const float> grad, std::span<float> moment,
             const Adagrad<float>& rule) {
  loop(param.data(), grad.data(), moment.data(), param.size(), rule);
}

void adagrad(std::span<double> param, std::span<const double> grad, std::span<double> moment,
             const Adagrad<double>& rule) {
  loop(param.data(), grad.data(), moment.data(), param.size(), rule);
}

namespace {

const Rule& rule = define_rule(elementwise(
    {
        .name = "adagrad",
        .doc = "Divides each step by the root of the sum of all squared gradients so far.",
        .states = {{.name = "moment",
                    .slot = "Moment",
                    .doc = "sum of squared gradients",
                    .start = "initial_accumulator_value"}},
        .settings = {setting("epsilon", Adagrad<float>().epsilon, "keeps the divisor above zero"),
                     multi_precision(),
                     {.name = "initial_accumulator_value", .layer = 0.0f, .table = 0.0f}},
        .sparse = Sparse::kStay,
        .inputs = {"Param", "Grad", "Moment"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      adagrad(p.param, p.grad, p.states[0], AdagradSettings::adagrad(n));
    }));

}  // namespace

}  // namespace flotilla::update
