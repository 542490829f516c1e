#include "flotilla/update/ftrl.h"

#include <cstddef>

#include "flotilla/update/clones.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <bool kRoot, typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, T* __restrict square,
                          T* __restrict linear, size_t n, const FtrlFormula<T>& formula) {
  const FtrlFormula<T> f = formula;
  for (size_t i = 0; i < n; ++i) f.template step<kRoot>(p[i], g[i], square[i], linear[i]);
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square, float* linear, size_t n,
                            const FtrlFormula<float>& f) {
  body<true>(p, g, square, linear, n, f);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square, double* linear, size_t n,
                            const FtrlFormula<double>& f) {
  body<true>(p, g, square, linear, n, f);
}

template <typename T>
void run(std::span<T> param, std::span<const T> grad, std::span<T> square, std::span<T> linear,
         const FtrlFormula<T>& f) {
  if (f.is_root()) {
    loop(param.data(), grad.data(), square.data(), linear.data(), param.size(), f);
  } else {
    body<false>(param.data(), grad.data(), square.data(), linear.data(), param.size(), f);
  }
}

}  // namespace

void ftrl(std::span<float> param, std::span<const float> grad, std::span<float> square,
          std::span<float> linear, const Ftrl<float>& rule) {
  run(param, grad, square, linear, FtrlFormula(rule));
}

void ftrl(std::span<double> param, std::span<const double> grad, std::span<double> square,
          std::span<double> linear, const Ftrl<double>& rule) {
  run(param, grad, square, linear, FtrlFormula(rule));
}

namespace {

constexpr Ftrl<float> kUsual = {};

const Rule& rule = define_rule(elementwise(
    {
        .name = "ftrl",
        .doc = "Follows the regularized leader: keeps parameters at zero that do not earn their "
               "place.",
        .states = {{.name = "squared",
                    .slot = "SquaredAccumulator",
                    .doc = "sum of squared gradients",
                    .out = "SquaredAccumOut"},
                   {.name = "linear",
                    .slot = "LinearAccumulator",
                    .doc = "sum of gradients, corrected",
                    .out = "LinearAccumOut"}},
        .settings = {setting("l1", kUsual.l1, "strength of the L1 penalty"),
                     setting("l2", kUsual.l2, "strength of the L2 penalty"),
                     setting("lr_power", kUsual.lr_power,
                             "how the learning rate falls with the squared gradients")},
        .sparse = Sparse::kStay,
        .inputs = {"Param", "SquaredAccumulator", "LinearAccumulator"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      ftrl(p.param, p.grad, p.states[0], p.states[1], FtrlSettings::ftrl(n));
    }));

}  // namespace

}  // namespace flotilla::update
