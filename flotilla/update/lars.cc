#include "flotilla/update/lars.h"

#include "flotilla/update/loop.h"
#include "flotilla/update/norm.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

template <typename T>
double measure(const Part<T>& p, const Numbers<T>& n) {
  return LarsFormula<T>::ratio(sum_of_squares(std::span<const T>(p.param)), sum_of_squares(p.grad),
                               n);
}

// Not compiled for several processors: one with fused multiply-add would round only once.
template <typename T>
void step(const Part<T>& part, const Numbers<T>& n) {
  update_each(LarsFormula<T>::of(n), part.param.size(), part.param.data(), part.grad.data(),
              part.states[0].data());
}

template <typename T>
constexpr Steps<T> kSteps = {.step = step<T>, .measure = measure<T>};

const Rule& rule = []() -> const Rule& {
  Rule made = {
      .name = "lars_momentum",
      .doc = "Momentum, with steps scaled to the size of each parameter.",
      .states = {{"velocity", "Velocity", "like Param"}},
      .settings = {{.name = "mu",
                    .doc = "what remains of the velocity after a step",
                    .op = 0.0f,
                    .layer = 0.9f,
                    .table = 0.9f},
                   setting("lars_coeff", 0.001f,
                           "how far a step may go, relative to the parameter"),
                   setting("lars_weight_decay", std::vector<float>{0.0005f},
                           "decay, for all or for each"),
                   setting("epsilon", 0.0f, "keeps the divisor above zero"),
                   multi_precision(),
                   setting("rescale_grad", 1.0f, "what the gradient is multiplied with first")},
      .f32 = kSteps<float>,
      .f64 = kSteps<double>,
      .lists = true,
      .inputs = {"Param", "Grad", "Velocity"},
  };
  made.settings[LarsFormula<float>::kDecay].decays = true;
  return define_rule(std::move(made));
}();

}  // namespace
}  // namespace flotilla::update
