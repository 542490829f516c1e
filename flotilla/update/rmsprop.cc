#include "flotilla/update/rmsprop.h"

#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <bool kCentered, bool kGrad, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict square,
                          T* __restrict mean, T* __restrict moment, size_t n,
                          const Rmsprop<T>& rule) {
  const RmspropFormula<T> f(rule, kCentered);
  T none = 0;
  for (size_t i = 0; i < n; ++i) {
    f.template step<kCentered>(p[i], kGrad ? g[i] : T{0}, square[i], moment[i],
                               kCentered ? mean[i] : none);
  }
}

template <typename T>
FLT_UPDATE_BODY void choose(T* p, const T* g, T* square, T* mean, T* moment, size_t n,
                            const Rmsprop<T>& rule) {
  if (mean == nullptr) {
    g == nullptr ? body<false, false>(p, g, square, mean, moment, n, rule)
                 : body<false, true>(p, g, square, mean, moment, n, rule);
  } else {
    g == nullptr ? body<true, false>(p, g, square, mean, moment, n, rule)
                 : body<true, true>(p, g, square, mean, moment, n, rule);
  }
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square, float* mean, float* moment,
                            size_t n, const Rmsprop<float>& rule) {
  choose(p, g, square, mean, moment, n, rule);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square, double* mean,
                            double* moment, size_t n, const Rmsprop<double>& rule) {
  choose(p, g, square, mean, moment, n, rule);
}

}  // namespace

void rmsprop(std::span<float> param, std::span<const float> grad, std::span<float> mean_square,
             std::span<float> mean_grad, std::span<float> moment, const Rmsprop<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), mean_square.data(),
       mean_grad.empty() ? nullptr : mean_grad.data(), moment.data(), param.size(), rule);
}

void rmsprop(std::span<double> param, std::span<const double> grad, std::span<double> mean_square,
             std::span<double> mean_grad, std::span<double> moment, const Rmsprop<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), mean_square.data(),
       mean_grad.empty() ? nullptr : mean_grad.data(), moment.data(), param.size(), rule);
}

namespace {

constexpr Rmsprop<float> kUsual = {};

const Rule& rule = define_rule(elementwise(
    {
        .name = "rmsprop",
        .doc = "Divides each step by the root of the mean of recent squared gradients.",
        .states = {{"mean_square", "MeanSquare", "mean of squared gradients"},
                   {"momentum", "Moment", "what remains of the last step"},
                   {.name = "mean_grad",
                    .slot = "MeanGrad",
                    .doc = "mean of gradients; where centered",
                    .where = "centered"}},
        .settings = {{.name = "epsilon",
                      .doc = "keeps the divisor above zero",
                      .op = kUsual.epsilon,
                      .layer = 1e-6f,
                      .table = kUsual.epsilon},
                     {.name = "decay",
                      .doc = "what remains of the means after a step",
                      .op = kUsual.decay,
                      .layer = 0.95f,
                      .table = kUsual.decay},
                     setting("momentum", kUsual.momentum, "what remains of a step in the next one"),
                     setting("centered", false,
                             "whether the variance is taken instead of the mean square"),
                     multi_precision()},
        .sparse = Sparse::kZeros,
        .inputs = {"Param", "MeanSquare", "Grad", "Moment"},
        .outputs = {"MomentOut"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      rmsprop(p.param, p.grad, p.states[0], p.states[2], p.states[1], RmspropSettings::rmsprop(n));
    }));

}  // namespace

}  // namespace flotilla::update
