#include "flotilla/update/adadelta.h"

#include <cstddef>

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* square_grad, float* square_step,
                            size_t n, const Adadelta<float>& rule) {
  update_each(AdadeltaFormula(rule), n, p, g, square_grad, square_step);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* square_grad, double* square_step,
                            size_t n, const Adadelta<double>& rule) {
  update_each(AdadeltaFormula(rule), n, p, g, square_grad, square_step);
}

}  // namespace

void adadelta(std::span<float> param, std::span<const float> grad, std::span<float> square_grad,
              std::span<float> square_step, const Adadelta<float>& rule) {
  loop(param.data(), grad.data(), square_grad.data(), square_step.data(), param.size(), rule);
}

void adadelta(std::span<double> param, std::span<const double> grad, std::span<double> square_grad,
              std::span<double> square_step, const Adadelta<double>& rule) {
  loop(param.data(), grad.data(), square_grad.data(), square_step.data(), param.size(), rule);
}

namespace {

constexpr Adadelta<float> kUsual = {};

// Programs of 1.x have no LearningRate: it is one.
const Rule& rule = define_rule(elementwise(
    {
        .name = "adadelta",
        .doc = "Scales each step by the ratio of recent steps to recent gradients.",
        .states = {{"_avg_squared_grad", "AvgSquaredGrad", "mean of squared gradients"},
                   {"_avg_squared_update", "AvgSquaredUpdate", "mean of squared steps"}},
        .settings = {setting("rho", kUsual.rho, "what remains of the means after a step"),
                     setting("epsilon", kUsual.epsilon, "keeps the ratio finite"),
                     multi_precision()},
        .lr = kUsual.lr,
        .inputs = {"Param", "Grad", "AvgSquaredGrad", "AvgSquaredUpdate"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      adadelta(p.param, p.grad, p.states[0], p.states[1], AdadeltaSettings::adadelta(n));
    }));

}  // namespace

}  // namespace flotilla::update
