// flotilla/update/rule.h
//
// An update rule is one value: its name, the arrays that it keeps beside a parameter, the numbers
// that it takes, and its step. The optimizer op with its sparse and fused forms (ops/optim), the
// rule of a server's table (ps/rule.h), the optimizer layer (layers/optimizer.h) and the passes
// that look at updates read this value; nothing else keeps a list of rules.
//
// A step has up to three parts, and most rules only the last:
//
//   propose   for parts of a parameter, in parallel: what does not need all of it
//   measure   once, for all of it: the ratio of its norms. Such a rule is called layerwise
//   step      for parts of it, in parallel
//
// On servers a sparse table's row is a whole parameter to such a rule, and so is a dense table.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/update/numbers.h"

namespace flotilla::update {

// ---- What a step sees ---------------------------------------------------------------------------

// Elements that lie at the same place of a parameter, its gradient and its state: equal lengths.
template <typename T>
struct Part {
  std::span<T> param = {};
  std::span<const T> grad = {};  // empty: zeros, which only rules with Sparse::kZeros get
  std::array<std::span<T>, kMaxStates> states = {};  // empty: switched off
  std::span<T> work = {};                            // of rules that want it
};

// Rows of a gradient, of which a thread takes those whose number, masked, lies in [begin, end).
template <typename T>
struct RowShare {
  T* param = nullptr;
  const T* grad = nullptr;
  std::span<const int64_t> rows = {};
  int64_t width = 0;
  int64_t mask = 0, begin = 0, end = 1;

  bool owns(int64_t row) const { return begin <= (row & mask) && (row & mask) < end; }
};

template <typename T>
struct Steps {
  void (*step)(const Part<T>& part, const Numbers<T>& numbers) = nullptr;
  void (*propose)(const Part<T>& part, const Numbers<T>& numbers) = nullptr;
  double (*measure)(const Part<T>& whole, const Numbers<T>& numbers) = nullptr;
  void (*scatter)(const RowShare<T>& rows, const Numbers<T>& numbers) = nullptr;
};

// ---- What a rule keeps and takes ----------------------------------------------------------------

// An array like the parameter.
struct State {
  std::string name = {};  // as in that of the variable, <param>_<name>_0
  std::string slot = {};  // of the op
  std::string doc = {};
  std::string out = {};    // the slot it is written to; by default <slot>Out
  std::string start = {};  // the setting that it starts with; by default 0
  std::string where = {};  // the switch that it is for; by default it is always there

  std::string out_slot() const { return out.empty() ? slot + "Out" : out; }
};

// A setting to the power of the step.
struct Power {
  enum By { kOp, kOpIfAsked, kProgram };  // who moves it on; kOpIfAsked: where it has the output

  std::string name = {};  // as that of a State
  std::string slot = {};
  std::string base = {};  // the setting
  std::string doc = {};
  By by = kOp;
};

// A default: a switch, a number, a number for each parameter of an op, a text.
using Value = std::variant<bool, int64_t, float, std::string, std::vector<float>>;

// Something that a rule takes, with its default in each of three places; none: not known there.
struct Setting {
  std::string name = {};
  std::string doc = {};
  std::optional<Value> op = {};     // an attribute of the op
  std::optional<Value> layer = {};  // a setting of the optimizer that appends ops
  std::optional<float> table = {};  // a parameter of a table's rule
  std::string tensor = {};          // the op's slot for a number in its place
  bool decays = false;              // its zero takes a parameter out of the rule's own decay
  bool unfused = false;             // ops in which it is on stay alone
};

// The same default everywhere; for the op alone.
Setting setting(std::string name, Value initial, std::string doc);
Setting of_op(std::string name, Value initial, std::string doc);
// With these an op has slots for copies of 16-bit parameters; f32 and f64 need none.
Setting multi_precision();

// What becomes of the rows of a parameter that a sparse gradient leaves out.
enum class Sparse {
  kRefused,    // the rule takes no sparse gradients
  kStay,       // nothing
  kZeros,      // their gradient is zero
  kSpread,     // the same, and the step needs a dense gradient
  kScattered,  // nothing, and repeated rows are not added up: scatter() takes one after the other
};

using TableNumbers = std::map<std::string, float>;

struct Rule {
  std::string name = {};  // of the op, the optimizer and the rule of tables
  std::string doc = {};   // one sentence, of the op
  // As tables keep them one behind the other.
  std::vector<State> states = {};
  std::vector<Power> powers = {};
  std::vector<Setting> settings = {};
  Steps<float> f32 = {};
  Steps<double> f64 = {};

  Sparse sparse = Sparse::kRefused;
  std::string lazy = {};          // the switch that makes kZeros kStay
  std::string keeps_powers = {};  // the switch with which the op does not move powers on
  std::string mark_1x = {};       // the switch of the formula of Paddle 1.x
  bool takes_l2 = false;          // L2 decay, by the op's regularization_method and _coeff
  bool skips = false;             // the op has SkipUpdate
  bool lists = false;             // the op itself takes lists of parameters
  bool fuses = false;             // there is an op fused_<name> for lists of them
  bool adds_up = false;           // two steps are one step with the sum of both gradients
  bool works = false;             // wants Part::work
  std::optional<double> lr = {};  // where the op has no LearningRate; by default it must have

  // Paddle's order of slots where it is another: those before all others (definition.cc).
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};

  // Changes what a table is told of an op, by default the settings that tables have.
  void (*to_table)(std::string& rule, TableNumbers& numbers) = nullptr;

  bool layerwise() const { return f32.measure != nullptr; }
  template <typename T>
  const Steps<T>& steps() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
  // Null where there is none.
  const Setting* find_setting(std::string_view setting) const;
  // Its place in Numbers. REQUIRES: there is one.
  size_t index_of(std::string_view setting) const;
  // In the order of the op's outputs, in which optimizers make them, too.
  std::vector<State> states_in_order() const;
};

// `rule` with its step, a generic lambda over Part<T> and Numbers<T>.
template <typename F>
Rule elementwise(Rule rule, F) {
  rule.f32.step = [](const Part<float>& p, const Numbers<float>& n) { F{}(p, n); };
  rule.f64.step = [](const Part<double>& p, const Numbers<double>& n) { F{}(p, n); };
  return rule;
}

// ---- All rules ----------------------------------------------------------------------------------

// Registers `rule` under its name. Called while static objects are built, never later.
const Rule& define_rule(Rule rule);
// Calls `use` for each rule, also for those that are defined later. Same rule.
bool for_each_rule(void (*use)(const Rule& rule));

// Null where there is none.
const Rule* find_rule(std::string_view name);
// Sorted.
std::vector<std::string> rule_names();

}  // namespace flotilla::update
