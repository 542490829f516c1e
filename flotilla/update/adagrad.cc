#include "flotilla/update/adagrad.h"

#include <cmath>
#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict m, size_t n,
                          const Adagrad<T>& rule) {
  const T lr = rule.lr, epsilon = rule.epsilon;
  for (size_t i = 0; i < n; ++i) {
    m[i] += g[i] * g[i];
    p[i] -= lr * g[i] / (std::sqrt(m[i]) + epsilon);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* m, size_t n,
                            const Adagrad<float>& rule) {
  body(p, g, m, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* m, size_t n,
                            const Adagrad<double>& rule) {
  body(p, g, m, n, rule);
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

enum { kEpsilon };

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
      adagrad(p.param, p.grad, p.states[0], {.lr = static_cast<T>(n.lr), .epsilon = n[kEpsilon]});
    }));

}  // namespace

}  // namespace flotilla::update
