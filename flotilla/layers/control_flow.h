// flotilla/layers/control_flow.h
//
// Parts of a program that run if, or as long as, a variable is true. What a function appends goes
// to a block of its own, which an op runs; gradients flow through it.
//
//   Variable y = cond(sum(x) > 0, [&] { return x * 2; }, [&] { return x - 1; })[0];
//
//   Variables last = while_loop([&](const Variables& v) { return v[0] < 10; },
//                               [&](const Variables& v) { return Values{v[0] + 1, v[1] * y}; },
//                               {full({1}, 0, i64), x});
//
// Where anything is refused or a function throws, everything that was appended since the call is
// taken out again: only empty blocks stay behind.

#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

// What a branch or the body of a loop returns: variables, and numbers, which become constants of
// the types bool, i64 and f32.
class Value {
 public:
  Value(Variable var) : value_(var) {}
  Value(Var& var) : value_(Variable(var)) {}
  template <std::same_as<bool> T>
  Value(T value) : value_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T number) : value_(static_cast<int64_t>(number)) {}
  template <std::floating_point T>
  Value(T number) : value_(static_cast<double>(number)) {}

  // The variable, or a new constant.
  Variable variable() const;

 private:
  std::variant<Variable, bool, int64_t, double> value_;
};

struct Values : std::vector<Value> {
  Values() = default;
  Values(Value one) { push_back(one); }
  Values(Variable one) { push_back(one); }
  Values(const Variables& several) : vector(several.begin(), several.end()) {}
  Values(std::initializer_list<Value> several) : vector(several) {}
  Values(std::vector<Value> several) : vector(std::move(several)) {}
};

// Branches of one choice must return the same dtypes; a TypeError in Python.
struct DTypesDiffer : Error {
  using Error::Error;
};

using Branch = std::function<Values()>;

// What `true_fn` returns if `pred`, one bool, is true, and what `false_fn` returns if not. Only one
// of them runs. One may be left out; the other returns nothing then.
Variables cond(Variable pred, const Branch& true_fn, const Branch& false_fn = {});

struct Case {
  Variable condition;
  Branch function;
};
// What the function of the first true condition returns; else that of `otherwise`, by default the
// last function.
Variables case_(std::vector<Case> cases, Branch otherwise = {});

struct NumberedCase {
  int64_t number = 0;
  Branch function = {};
};
// What the function with the number `index` returns; else that of `otherwise`, by default the one
// with the largest number.
Variables switch_case(Variable index, std::vector<NumberedCase> cases, Branch otherwise = {});

using Condition = std::function<Variable(const Variables& loop_vars)>;
using Body = std::function<Values(const Variables& loop_vars)>;

// Runs loop_vars = body(loop_vars) as long as cond(loop_vars) is true, and returns loop_vars. Their
// shapes and dtypes stay as they are.
Variables while_loop(const Condition& cond, const Body& body, const Variables& loop_vars,
                     bool is_test = false);

// ---- blocks

// A block that an op runs under a condition. The op lists what the block reads and writes outside.
class GuardedBlock {
 public:
  // `type`: conditional_block or while. Refuses a condition that is not one bool.
  GuardedBlock(std::string type, Variable condition, Attrs attrs);

  // Layers append to a new block from here on.
  void enter();
  // Back outside, where the op is appended. REQUIRES: the block was entered
  void leave();
  // Back outside, without all that was appended since enter().
  void give_up();

  // enter(), `append`, leave(); gives up where something is thrown.
  void run(const std::function<void()>& append);

 private:
  struct Entered;
  std::string type_;
  Variable condition_;
  Attrs attrs_;
  std::shared_ptr<Entered> entered_;
};

// Runs if the condition is true:
//   if_block(step < warmup).run([&] { op("assign", {{"X", small}}, {}, {.out = rate.name()}); });
GuardedBlock if_block(Variable condition);
// Runs as long as the condition is true; the block must change it.
GuardedBlock while_block(Variable condition, bool is_test = false);

// Blocks of which the first with a true condition runs.
class Switch {
 public:
  GuardedBlock case_(Variable condition);
  // Runs if no other does. REQUIRES: there is a case.
  GuardedBlock default_() const;

 private:
  std::optional<Variable> none_yet_;  // none of the conditions so far was true
};

}  // namespace flotilla::layers
