#include "flotilla/update/rule.h"

#include <algorithm>

#include "flotilla/base/error.h"

namespace flotilla::update {
namespace {

// Filled while static objects are built, read-only afterwards.
struct Registry {
  std::map<std::string, Rule, std::less<>> rules;
  std::vector<void (*)(const Rule&)> users;
};

Registry& registry() {
  static Registry filled_before_main;
  return filled_before_main;
}

std::optional<float> number_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0f : 0.0f;
  if (const auto* number = std::get_if<float>(&value)) return *number;
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return list->front();
  return {};
}

// What would be a mistake of the rule's own file.
void check(const Rule& rule) {
  invariant(rule.states.size() <= kMaxStates && rule.powers.size() <= kMaxPowers &&
                rule.settings.size() <= kMaxSettings,
            "the rule {} has {} arrays, {} powers and {} settings, more than there is room for",
            rule.name, rule.states.size(), rule.powers.size(), rule.settings.size());
  invariant(rule.f32.step != nullptr && rule.f64.step != nullptr, "the rule {} has no step",
            rule.name);
  const auto check_named = [&](const std::string& name) {
    invariant(name.empty() || rule.find_setting(name) != nullptr,
              "the rule {} has no setting \"{}\", which it names", rule.name, name);
  };
  for (const State& state : rule.states) {
    check_named(state.start);
    check_named(state.where);
  }
  for (const Power& power : rule.powers) {
    check_named(power.base);
    invariant(!rule.fuses || power.by == Power::kOp,
              "the rule {} has a power that a fused op would have to move on", rule.name);
  }
  for (const std::string& name : {rule.lazy, rule.keeps_powers, rule.mark_1x}) check_named(name);
  invariant(!rule.fuses || (!rule.layerwise() && !rule.lists),
            "the rule {} needs each parameter by itself, so its ops cannot be fused", rule.name);
}

}  // namespace

Setting setting(std::string name, Value initial, std::string doc) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .op = initial,
          .layer = initial,
          .table = number_of(initial)};
}

Setting of_op(std::string name, Value initial, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .op = std::move(initial)};
}

Setting multi_precision() {
  Setting made =
      of_op("multi_precision", false, "whether MasterParam is there; f32 and f64 need none");
  made.unfused = true;
  return made;
}

const Setting* Rule::find_setting(std::string_view setting) const {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& s) { return s.name == setting; });
  return found == settings.end() ? nullptr : &*found;
}

size_t Rule::index_of(std::string_view setting) const {
  const Setting* found = find_setting(setting);
  invariant(found != nullptr, "the rule {} has no setting \"{}\"", name, setting);
  return static_cast<size_t>(found - settings.data());
}

std::vector<State> Rule::states_in_order() const {
  std::vector<State> ordered = states;
  const auto place = [&](const State& state) {
    return std::find(outputs.begin(), outputs.end(), state.out_slot()) - outputs.begin();
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const State& a, const State& b) { return place(a) < place(b); });
  return ordered;
}

const Rule& define_rule(Rule rule) {
  check(rule);
  Registry& r = registry();
  const auto [at, added] = r.rules.try_emplace(rule.name, rule);
  invariant(added, "the rule \"{}\" is defined twice", rule.name);
  for (const auto use : r.users) use(at->second);
  return at->second;
}

bool for_each_rule(void (*use)(const Rule& rule)) {
  Registry& r = registry();
  r.users.push_back(use);
  for (const auto& [name, rule] : r.rules) use(rule);
  return true;
}

const Rule* find_rule(std::string_view name) {
  const auto found = registry().rules.find(name);
  return found == registry().rules.end() ? nullptr : &found->second;
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : registry().rules) names.push_back(name);
  return names;
}

}  // namespace flotilla::update
