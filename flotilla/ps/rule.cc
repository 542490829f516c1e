#include "flotilla/ps/rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/update/adagrad.h"
#include "flotilla/update/regularize.h"
#include "flotilla/update/sgd.h"

namespace flotilla::ps {
namespace {

constexpr const char* kRules =
    "sgd, momentum, adam, adamw, adagrad, ftrl, rmsprop, adadelta, adamax";

// Hands out parameters by name, and refuses those that nobody asked for.
class Parameters {
 public:
  explicit Parameters(const RuleSpec& rule) : rule_(rule) {}

  float get(const std::string& name, float otherwise) {
    names_.push_back(name);
    const auto found = rule_.parameters.find(name);
    if (found == rule_.parameters.end()) return otherwise;
    require(std::isfinite(found->second), "{} of the rule {} must be finite, but is {}", name,
            rule_.name, found->second);
    return found->second;
  }

  void refuse_others() const {
    for (const auto& [name, value] : rule_.parameters) {
      require(std::find(names_.begin(), names_.end(), name) != names_.end(),
              "the rule {} has no parameter \"{}\"{}", rule_.name, name,
              did_you_mean(name, names_));
    }
  }

 private:
  const RuleSpec& rule_;
  std::vector<std::string> names_;
};

}  // namespace

void warn_of_refusal(const TableSpec& table, int64_t refused, std::string_view what) {
  if (!std::has_single_bit(static_cast<uint64_t>(refused))) return;
  log::warning("table {}: {} is not finite and is refused, as {} before it", table.name, what,
               refused - 1);
}

Rule::Rule(const TableSpec& table) : l1_(table.l1), l2_(table.l2) {
  Parameters given(table.rule);
  const std::string& name = table.rule.name;
  if (name == "sgd") {
    kind_ = kSgd;
  } else if (name == "momentum") {
    kind_ = kMomentum;
    arrays_ = 1;
    momentum_ = {.mu = given.get("mu", 0.9f),
                 .nesterov = given.get("use_nesterov", 0) != 0,
                 .l2 = l2_,  // as the op takes it
                 .rescale = given.get("rescale_grad", 1)};
    l2_ = 0;
  } else if (name == "adam" || name == "adamw") {
    kind_ = kAdam;
    arrays_ = 2;
    adam_ = {.beta1 = given.get("beta1", 0.9f),
             .beta2 = given.get("beta2", 0.999f),
             .epsilon = given.get("epsilon", 1e-8f),
             .plain_epsilon = given.get("plain_epsilon", 0) != 0};
    row_powers_ = given.get("row_powers", 0) != 0;
    if (name == "adamw") {
      adam_.decay = given.get("coeff", 0.01f);
      lr_ratio_ = given.get("lr_ratio", 1);
    }
  } else if (name == "adagrad") {
    kind_ = kAdagrad;
    arrays_ = 1;
    adagrad_epsilon_ = given.get("epsilon", 1e-6f);
    first_moment_ = given.get("initial_accumulator_value", 0);
  } else if (name == "ftrl") {
    kind_ = kFtrl;
    arrays_ = 2;
    ftrl_ = {.l1 = given.get("l1", 0),
             .l2 = given.get("l2", 0),
             .lr_power = given.get("lr_power", -0.5f)};
  } else if (name == "rmsprop") {
    kind_ = kRmsprop;
    arrays_ = given.get("centered", 0) != 0 ? 3 : 2;
    rmsprop_ = {.decay = given.get("decay", 0.9f),
                .momentum = given.get("momentum", 0),
                .epsilon = given.get("epsilon", 1e-10f)};
  } else if (name == "adadelta") {
    kind_ = kAdadelta;
    arrays_ = 2;
    adadelta_ = {.rho = given.get("rho", 0.95f), .epsilon = given.get("epsilon", 1e-6f)};
  } else if (name == "adamax") {
    kind_ = kAdamax;
    arrays_ = 2;
    adamax_ = {.beta1 = given.get("beta1", 0.9f),
               .beta2 = given.get("beta2", 0.999f),
               .epsilon = given.get("epsilon", 1e-8f)};
    adam_.beta1 = adamax_.beta1;  // whose powers are counted
  } else {
    refuse("tables have no rule \"{}\"; there are: {}", name, kRules);
  }
  given.refuse_others();
  require(table.kind == TableSpec::kSparse || !row_powers_,
          "the dense table {} has no rows that could have powers of their own", table.name);
}

void Rule::start(std::span<float> state, int64_t n) const {
  std::fill(state.begin(), state.end(), first_moment_);
  if (row_powers_) {
    state[static_cast<size_t>(2 * n)] = adam_.beta1;
    state[static_cast<size_t>(2 * n) + 1] = adam_.beta2;
  }
}

void Rule::adam_step(std::span<float> param, std::span<const float> grad, std::span<float> state,
                     const Round& round) const {
  const size_t n = param.size();
  update::Adam<float> rule = adam_;
  rule.lr = lr_ratio_ * round.lr;
  rule.beta1_power = round.beta1_power;
  rule.beta2_power = round.beta2_power;
  if (row_powers_) {
    rule.beta1_power = state[2 * n];
    rule.beta2_power = state[2 * n + 1];
    state[2 * n] *= rule.beta1;
    state[2 * n + 1] *= rule.beta2;
  }
  update::adam(param, grad, state.first(n), state.subspan(n, n), rule);
}

void Rule::decay(std::span<const float> param, std::span<float> grad) const {
  update::add_decay(param, grad, l1_, l2_);
}

void Rule::apply(std::span<float> param, std::span<const float> grad, std::span<float> state,
                 const Round& round) const {
  const size_t n = param.size();
  switch (kind_) {
    case kSgd:
      return update::sgd(param, grad, round.lr);
    case kMomentum: {
      update::Momentum<float> rule = momentum_;
      rule.lr = round.lr;
      return update::momentum(param, grad, state, rule);
    }
    case kAdam:
      return adam_step(param, grad, state, round);
    case kAdagrad:
      return update::adagrad(param, grad, state, {.lr = round.lr, .epsilon = adagrad_epsilon_});
    case kFtrl: {
      update::Ftrl<float> rule = ftrl_;
      rule.lr = round.lr;
      return update::ftrl(param, grad, state.first(n), state.subspan(n, n), rule);
    }
    case kRmsprop: {
      update::Rmsprop<float> rule = rmsprop_;
      rule.lr = round.lr;
      return update::rmsprop(param, grad, state.first(n), state.subspan(2 * n), state.subspan(n, n),
                             rule);
    }
    case kAdadelta: {
      update::Adadelta<float> rule = adadelta_;
      rule.lr = round.lr;
      return update::adadelta(param, grad, state.first(n), state.subspan(n, n), rule);
    }
    case kAdamax: {
      update::Adamax<float> rule = adamax_;
      rule.lr = round.lr;
      rule.beta1_power = round.beta1_power;
      return update::adamax(param, grad, state.first(n), state.subspan(n, n), rule);
    }
  }
}

}  // namespace flotilla::ps
