#include "flotilla/ps/rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/update/regularize.h"

namespace flotilla::ps {
namespace {

const update::Rule& rule_of(const RuleSpec& spec) {
  const update::Rule* rule = update::find_rule(spec.name);
  require(rule != nullptr, "unknown table rule \"{}\"; the rules are: {}", spec.name,
          fmt::join(update::rule_names(), ", "));
  return *rule;
}

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
  log::warning("table {}: {} is not finite and was refused, like {} before it", table.name, what,
               refused - 1);
}

Rule::Rule(const TableSpec& table)
    : rule_(&rule_of(table.rule)), l1_(table.l1), l2_(rule_->takes_l2 ? 0 : table.l2) {
  Parameters given(table.rule);
  if (rule_->takes_l2) numbers_.l2 = table.l2;
  for (size_t i = 0; i < rule_->settings.size(); ++i) {
    const update::Setting& setting = rule_->settings[i];
    if (setting.table) numbers_.settings[i] = given.get(setting.name, *setting.table);
  }
  for (size_t i = 0; i < rule_->states.size(); ++i) {
    const std::string& where = rule_->states[i].where;
    used_[i] = where.empty() || numbers_[rule_->index_of(where)] != 0;
    arrays_ += used_[i];
  }
  const auto base = [&](size_t i) {
    return i < rule_->powers.size() ? numbers_[rule_->index_of(rule_->powers[i].base)] : 0;
  };
  bases_ = {base(0), base(1)};
  if (!rule_->powers.empty()) row_powers_ = given.get("row_powers", 0) != 0;
  given.refuse_others();
  require(table.kind == TableSpec::kSparse || !row_powers_,
          "the dense table {} has no rows that could have powers of their own", table.name);
}

void Rule::start(std::span<float> state, int64_t n) const {
  auto at = state.begin();
  for (size_t i = 0; i < rule_->states.size(); ++i) {
    if (!used_[i]) continue;
    const std::string& first = rule_->states[i].start;
    at = std::fill_n(at, n, first.empty() ? 0 : numbers_[rule_->index_of(first)]);
  }
  if (!row_powers_) return;
  *at++ = bases_.beta1;
  if (rule_->powers.size() > 1) *at = bases_.beta2;
}

void Rule::decay(std::span<const float> param, std::span<float> grad) const {
  update::add_decay(param, grad, l1_, l2_);
}

void Rule::apply(std::span<float> param, std::span<const float> grad, std::span<float> state,
                 const Round& round) const {
  const size_t n = param.size();
  update::Numbers<float> numbers = numbers_;
  numbers.lr = round.lr;
  numbers.powers[0] = round.beta1_power;
  numbers.powers[1] = round.beta2_power;
  update::Part<float> part = {.param = param, .grad = grad};
  size_t at = 0;
  for (size_t i = 0; i < rule_->states.size(); ++i) {
    if (!used_[i]) continue;
    part.states[i] = state.subspan(at, n);
    at += n;
  }
  if (row_powers_) {
    for (size_t i = 0; i < rule_->powers.size(); ++i) {
      numbers.powers[i] = state[at + i];
      state[at + i] *= i == 0 ? bases_.beta1 : bases_.beta2;
    }
  }
  const update::Steps<float>& steps = rule_->f32;
  std::vector<float> work;
  if (rule_->works) {
    work.resize(n);
    part.work = work;
  }
  if (steps.propose != nullptr) steps.propose(part, numbers);
  if (steps.measure != nullptr) numbers.ratio = steps.measure(part, numbers);
  steps.step(part, numbers);
}

}  // namespace flotilla::ps
