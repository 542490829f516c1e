#include "flotilla/update/adam.h"

#include <cstddef>

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

FLT_UPDATE_CLONES void loop(float* p, const float* g, float* m, float* v, size_t n,
                            const AdamFormula<float>& f) {
  g == nullptr ? update_each<false>(f, n, p, g, m, v) : update_each(f, n, p, g, m, v);
}

FLT_UPDATE_CLONES void loop(double* p, const double* g, double* m, double* v, size_t n,
                            const AdamFormula<double>& f) {
  g == nullptr ? update_each<false>(f, n, p, g, m, v) : update_each(f, n, p, g, m, v);
}

}  // namespace

void adam(std::span<float> param, std::span<const float> grad, std::span<float> moment1,
          std::span<float> moment2, const Adam<float>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), moment1.data(), moment2.data(),
       param.size(), AdamFormula<float>(rule));
}

void adam(std::span<double> param, std::span<const double> grad, std::span<double> moment1,
          std::span<double> moment2, const Adam<double>& rule) {
  loop(param.data(), grad.empty() ? nullptr : grad.data(), moment1.data(), moment2.data(),
       param.size(), AdamFormula<double>(rule));
}

namespace {

using Settings = AdamSettings;
constexpr Adam<float> kUsual = {};

// Tables are told of the switch only where it is on.
void to_table(std::string&, TableNumbers& numbers) {
  if (numbers.at("plain_epsilon") == 0) numbers.erase("plain_epsilon");
}

void adamw_to_table(std::string& rule, TableNumbers& numbers) {
  to_table(rule, numbers);
  const bool decays = numbers.at("with_decay") != 0;
  numbers.erase("with_decay");
  if (decays) return;
  numbers["coeff"] = 0;
  if (numbers.at("lr_ratio") != 1) return;
  rule = "adam";
  numbers.erase("coeff");
  numbers.erase("lr_ratio");
}

Setting in_tensor(Setting setting, std::string slot) {
  setting.tensor = std::move(slot);
  return setting;
}

// What adam and adamw share. Two known answers of Paddle's CPU kernels are not repeated here: with
// sparse gradients they take the beta powers of the next step, and in adamw they apply lr_ratio to
// the decay only.
Rule both(std::string name, std::string doc) {
  Setting global_powers =
      of_op("use_global_beta_pow", false, "whether somebody else advances the beta powers");
  global_powers.unfused = true;
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .states = {{"moment1", "Moment1", "mean of gradients"},
                 {"moment2", "Moment2", "mean of squared gradients"}},
      .powers = {{"beta1_pow_acc", "Beta1Pow", "beta1",
                  "beta1 to the power of the step, which counts from 1"},
                 {"beta2_pow_acc", "Beta2Pow", "beta2", "beta2 to the same power"}},
      .settings =
          {in_tensor(setting("beta1", kUsual.beta1, "what remains of Moment1 after a step"),
                     "Beta1Tensor"),
           in_tensor(setting("beta2", kUsual.beta2, "what remains of Moment2 after a step"),
                     "Beta2Tensor"),
           in_tensor(setting("epsilon", kUsual.epsilon, "keeps the divisor above zero"),
                     "EpsilonTensor"),
           {.name = "lazy_mode",
            .doc = "whether rows that a sparse gradient leaves out stay",
            .op = false,
            .layer = false},
           of_op("min_row_size_to_use_multithread", int64_t{1000}, "not used"),
           multi_precision(),
           {.name = "plain_epsilon",
            .doc = "whether epsilon is added to the root of Moment2 as it is, as in programs of "
                   "Paddle 1.x",
            .op = false,
            .table = 0.0f},
           std::move(global_powers)},
      .sparse = Sparse::kZeros,
      .lazy = "lazy_mode",
      .keeps_powers = "use_global_beta_pow",
      .skips = true,
  };
}

const Rule& rule = []() -> const Rule& {
  Rule made = both("adam", "Moves the parameter by the ratio of two running means.");
  made.mark_1x = "plain_epsilon";
  made.fuses = true;
  made.to_table = to_table;
  return define_rule(
      elementwise(std::move(made), []<typename T>(const Part<T>& p, const Numbers<T>& n) {
        adam(p.param, p.grad, p.states[0], p.states[1], Settings::adam(n));
      }));
}();

const Rule& decaying = []() -> const Rule& {
  Rule made = both("adamw", "Adam, with a decay of the parameter that is no part of its gradient.");
  made.settings.push_back(
      setting("lr_ratio", 1.0f, "what the learning rate of this parameter is multiplied with"));
  made.settings.push_back(setting("coeff", 0.01f, "decay"));
  made.settings.push_back({.name = "with_decay",
                           .doc = "whether this parameter decays",
                           .op = false,
                           .layer = true,
                           .table = 1.0f});
  made.settings[Settings::kCoeff].decays = made.settings[Settings::kWithDecay].decays = true;
  made.to_table = adamw_to_table;
  return define_rule(
      elementwise(std::move(made), []<typename T>(const Part<T>& p, const Numbers<T>& n) {
        adam(p.param, p.grad, p.states[0], p.states[1], Settings::adamw(n));
      }));
}();

void merged_to_table(std::string& rule, TableNumbers&) { rule = "adam"; }

const Rule& merged = []() -> const Rule& {
  Rule made = both("merged_adam", "adam on lists of parameters.");
  for (const int absent : {Settings::kLazy, Settings::kMinRows, Settings::kPlainEpsilon})
    made.settings[absent].op.reset();
  for (const int number : {Settings::kFirst, Settings::kSecond, Settings::kEpsilon})
    made.settings[number].tensor.clear();
  made.settings[Settings::kLazy].layer.reset();
  made.sparse = Sparse::kRefused;
  made.lazy.clear();
  made.skips = false;
  made.lists = true;
  made.to_table = merged_to_table;
  return define_rule(
      elementwise(std::move(made), []<typename T>(const Part<T>& p, const Numbers<T>& n) {
        adam(p.param, p.grad, p.states[0], p.states[1], Settings::adam(n));
      }));
}();

}  // namespace

}  // namespace flotilla::update
