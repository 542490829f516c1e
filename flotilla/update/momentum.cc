#include "flotilla/update/momentum.h"

#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <bool kNesterov, bool kGrad, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict v, size_t n,
                          const Momentum<T>& rule) {
  const MomentumFormula<T> f = {rule};
  for (size_t i = 0; i < n; ++i) f.template step<kNesterov>(p[i], kGrad ? g[i] : T{0}, v[i]);
}

template <typename T>
FLT_UPDATE_BODY void choose(T* p, const T* g, T* v, size_t n, const Momentum<T>& rule) {
  if (rule.nesterov) {
    g == nullptr ? body<true, false>(p, g, v, n, rule) : body<true, true>(p, g, v, n, rule);
  } else {
    g == nullptr ? body<false, false>(p, g, v, n, rule) : body<false, true>(p, g, v, n, rule);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* v, size_t n,
                            const Momentum<float>& rule) {
  choose(p, g, v, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* v, size_t n,
                            const Momentum<double>& rule) {
  choose(p, g, v, n, rule);
}

}  // namespace

void momentum(std::span<float> param, std::span<const float> grad, std::span<float> velocity,
              const Momentum<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), velocity.data(), param.size(), rule);
}

void momentum(std::span<double> param, std::span<const double> grad, std::span<double> velocity,
              const Momentum<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), velocity.data(), param.size(), rule);
}

namespace {

const Rule& rule = define_rule(elementwise(
    {
        .name = "momentum",
        .doc = "Moves the parameter by a velocity that gathers the gradients.",
        .states = {{"velocity", "Velocity", "like Param"}},
        .settings = {{.name = "mu",
                      .doc = "what remains of the velocity after a step",
                      .op = 0.0f,
                      .layer = 0.9f,
                      .table = 0.9f},
                     setting("use_nesterov", false, "whether the step looks ahead by the velocity"),
                     of_op("regularization_method", "", "\"l2_decay\", or \"\" for none"),
                     of_op("regularization_coeff", 0.0f,
                           "how much of the parameter is added to the gradient"),
                     multi_precision(),
                     setting("rescale_grad", 1.0f, "what the gradient is multiplied with first")},
        .sparse = Sparse::kZeros,
        .takes_l2 = true,
        .fuses = true,
        .inputs = {"Param", "Grad", "Velocity"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      momentum(p.param, p.grad, p.states[0], MomentumSettings::momentum(n));
    }));

}  // namespace

}  // namespace flotilla::update
