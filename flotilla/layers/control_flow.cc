#include "flotilla/layers/control_flow.h"

#include <algorithm>
#include <set>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// ---- going back

template <typename T>
std::vector<const T*> addresses(const std::vector<std::unique_ptr<T>>& all) {
  std::vector<const T*> found;
  found.reserve(all.size());
  for (const std::unique_ptr<T>& one : all) found.push_back(one.get());
  return found;
}

// How far a program had got.
class ProgramMark {
 public:
  explicit ProgramMark(std::shared_ptr<Program> program) : program_(std::move(program)) {
    for (const Block* block = &program_->current_block();;
         block = &program_->block(block->parent())) {
      open_[block->index()] = {addresses(block->ops()), addresses(block->vars())};
      if (block->parent() < 0) break;
    }
  }
  // Layers append where they did then. Ops and variables that came since are taken out.
  void go_back() const {
    for (int32_t index = blocks_; index < program_->num_blocks(); ++index) keep(index, {});
    for (const auto& [index, known] : open_) keep(index, known);
    while (program_->current_block().index() >= blocks_) program_->leave_block();
  }

 private:
  struct Known {
    std::vector<const Op*> ops = {};
    std::vector<const Var*> vars = {};
  };

  // Takes all but what is known out of a block.
  void keep(int32_t index, const Known& known) const {
    Block& block = program_->block(index);
    const std::set<const Op*> ops(known.ops.begin(), known.ops.end());
    const std::set<const Var*> vars(known.vars.begin(), known.vars.end());
    std::vector<size_t> positions;
    for (size_t i = 0; i < block.size(); ++i) {
      if (!ops.contains(&block.op(i))) positions.push_back(i);
    }
    block.erase(positions);
    std::vector<std::string> names;
    for (const auto& var : block.vars()) {
      if (!vars.contains(var.get())) names.push_back(var->name);
    }
    for (const std::string& name : names) block.remove_var(name);
  }

  std::shared_ptr<Program> program_;
  int32_t blocks_ = program_->num_blocks();
  std::map<int32_t, Known> open_;  // the current block and those around it, by index
};

// All of what `append` appends, or nothing.
template <typename F>
auto all_or_nothing(const F& append) {
  const ProgramMark main(context().main), startup(context().startup);
  try {
    return append();
  } catch (...) {
    startup.go_back();
    main.go_back();
    throw;
  }
}

// ---- blocks

// What is not known yet is checked when the program runs.
void check_one_bool(std::string_view type, const Var& condition) {
  const bool one = std::all_of(condition.shape.begin(), condition.shape.end(),
                               [](int64_t extent) { return extent == 1 || extent < 0; });
  require(condition.dtype == boolean && one, "the condition of {} must be one bool, but {} is {}{}",
          type, condition.name, long_name_of(condition.dtype), condition.shape);
}

// The slots of an op that runs a block: its condition, what the block reads, and its scopes.
struct BlockSlots {
  std::string condition, reads, scopes;
};

BlockSlots slots_of(std::string_view type) {
  if (type == "while") return {"Condition", "X", "StepScopes"};
  return {"Cond", "Input", "Scope"};
}

// Names in order, each once.
class Names {
 public:
  void add(const std::string& name) {
    if (seen_.insert(name).second) list_.push_back(name);
  }
  bool contains(const std::string& name) const { return seen_.contains(name); }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> list_;
};

// The outer variables that a block reads before it writes them, and those that it writes.
struct Across {
  Names reads, writes;
};

Across across(const Block& inner, const Block& outer) {
  Across found;
  for (const auto& op : inner.ops()) {
    for (const std::string& name : names_in(op->inputs())) {
      if (inner.find_var(name) == nullptr && !found.writes.contains(name)) found.reads.add(name);
    }
    for (const std::string& name : names_in(op->outputs())) {
      if (inner.find_var(name) == nullptr && outer.find_var_recursive(name) != nullptr) {
        found.writes.add(name);
      }
    }
  }
  return found;
}

void append_block_op(const std::string& type, Variable condition, Attrs attrs, const Block& inner) {
  Block& outer = inner.program().current_block();
  const Across names = across(inner, outer);
  const BlockSlots slots = slots_of(type);
  const std::string scopes = context().names.generate("scopes");
  outer.add_var({.name = scopes, .kind = VarKind::kStepScopes});
  Slots inputs = {{slots.condition, {condition.name()}}}, outputs = {{slots.scopes, {scopes}}};
  if (!names.reads.list().empty()) inputs[slots.reads] = names.reads.list();
  if (!names.writes.list().empty()) outputs["Out"] = names.writes.list();
  attrs["sub_block"] = BlockRef{inner.index()};
  append_op(outer, type, std::move(inputs), std::move(outputs), std::move(attrs));
}

// ---- values

Variable constant_of(std::string digits, float value, DType dtype) {
  return op("fill_constant", {},
            {{"shape", std::vector<int64_t>{1}},
             {"dtype", to_paddle(dtype)},
             {"force_cpu", false},
             {"value", value},
             {"str_value", std::move(digits)}},
            {.stop_gradient = true});
}

Variable constant_of(double number, DType dtype) {
  std::string digits = fmt::format("{}", number);
  // As Python writes floating-point numbers.
  if (digits.find_first_not_of("-0123456789") == digits.npos) digits += ".0";
  return constant_of(std::move(digits), static_cast<float>(number), dtype);
}

Variable constant_of(int64_t number, DType dtype) {
  if (is_floating(dtype)) return constant_of(static_cast<double>(number), dtype);
  return constant_of(std::to_string(number), static_cast<float>(number), dtype);
}

Variables variables_of(const Values& values) {
  Variables vars;
  for (const Value& value : values) vars.push_back(value.variable());
  return vars;
}

Variable copied(Variable x) { return op("assign", {{"X", x}}); }

void copy_to(Variable result, Variable value) {
  op("assign", {{"X", value}}, {}, {.out = result.name()});
}

// Where a gradient would flow into the value, it would into the result.
void write(Variable result, Variable value) {
  result->stop_gradient = result->stop_gradient && value->stop_gradient;
  copy_to(result, value);
}

// ---- branches

// A variable like `value` in the block around the current one.
Variable beside(Variable value) {
  Program& program = *context().main;
  return program.block(program.current_block().parent())
      .add_var({.name = context().names.generate("branch"),
                .dtype = value.dtype(),
                .shape = value.shape(),
                .stop_gradient = value->stop_gradient});
}

// Appends a branch. The variables outside that hold what it returned.
Variables branch(Variable condition, const Branch& function) {
  if (!function) return {};
  Variables results;
  if_block(condition).run([&] {
    const Variables values = variables_of(function());
    for (const Variable& value : values) results.push_back(beside(value));
    for (size_t i = 0; i < values.size(); ++i) write(results[i], values[i]);
  });
  return results;
}

void check_same(const Variables& one, const Variables& other) {
  require(one.size() == other.size(),
          "all branches must return the same structure, but one returns {} variables and another "
          "{}",
          one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i].dtype() == other[i].dtype()) continue;
    throw DTypesDiffer(ErrorKind::kInvalidArgument,
                       fmt::format("all branches must return the same dtypes, but one returns {} "
                                   "where another returns {}",
                                   long_name_of(one[i].dtype()), long_name_of(other[i].dtype())));
  }
}

// The one of two variables that `which` names, 0 or 1.
Variable chosen(Variable which, Variable zero, Variable one) {
  Block& block = context().main->current_block();
  Var& made = block.add_var({.name = context().names.generate("select_input"),
                             .dtype = zero.dtype(),
                             .shape = zero.shape(),
                             .stop_gradient = zero->stop_gradient && one->stop_gradient});
  append_op(block, "select_input", {{"X", {zero.name(), one.name()}}, {"Mask", {which.name()}}},
            {{"Out", {made.name}}});
  return made;
}

// The cases from number `next` on.
Variables choose(const std::vector<Case>& cases, size_t next, const Branch& otherwise) {
  if (next == cases.size()) return variables_of(otherwise());
  return cond(cases[next].condition, cases[next].function,
              [&] { return choose(cases, next + 1, otherwise); });
}

}  // namespace

Variable Value::variable() const {
  if (const Variable* var = std::get_if<Variable>(&value_)) return *var;
  if (const bool* flag = std::get_if<bool>(&value_)) return constant_of(*flag ? 1.0 : 0.0, boolean);
  if (const int64_t* whole = std::get_if<int64_t>(&value_)) return constant_of(*whole, i64);
  return constant_of(std::get<double>(value_), f32);
}

Variables cond(Variable pred, const Branch& true_fn, const Branch& false_fn) {
  return all_or_nothing([&]() -> Variables {
    check_one_bool("conditional_block", pred);
    const Variables taken = branch(pred, true_fn);
    const Variables other =
        false_fn ? branch(op("logical_not", {{"X", pred}}), false_fn) : Variables();
    require((true_fn && false_fn) || (taken.empty() && other.empty()),
            "a branch without a counterpart must return nothing");
    check_same(taken, other);
    if (taken.empty()) return {};
    const Variable which = cast(pred, i32);
    Variables results;
    for (size_t i = 0; i < taken.size(); ++i) {
      results.push_back(chosen(which, other[i], taken[i]));
    }
    return results;
  });
}

Variables case_(std::vector<Case> cases, Branch otherwise) {
  if (!otherwise) {
    require(!cases.empty(), "case needs a function");
    otherwise = std::move(cases.back().function);
    cases.pop_back();
  }
  for (const Case& one : cases) check_one_bool("case", one.condition);
  return all_or_nothing([&] { return choose(cases, 0, otherwise); });
}

Variables switch_case(Variable index, std::vector<NumberedCase> cases, Branch otherwise) {
  require(!cases.empty() || otherwise, "switch_case needs a function");
  std::vector<int64_t> numbers;
  for (const NumberedCase& one : cases) numbers.push_back(one.number);
  require(std::set<int64_t>(numbers.begin(), numbers.end()).size() == numbers.size(),
          "the numbers of switch_case must differ, but are [{}]", fmt::join(numbers, ", "));
  std::sort(cases.begin(), cases.end(), [](const NumberedCase& one, const NumberedCase& other) {
    return one.number < other.number;
  });
  if (!otherwise) {
    otherwise = std::move(cases.back().function);
    cases.pop_back();
  }
  return all_or_nothing([&] {
    std::vector<Case> chain;
    for (NumberedCase& one : cases) {
      const Variable number = constant_of(one.number, index.dtype());
      chain.push_back({op("equal", {{"X", index}, {"Y", number}}, {}, {.stop_gradient = true}),
                       std::move(one.function)});
    }
    return case_(std::move(chain), otherwise);
  });
}

Variables while_loop(const Condition& cond, const Body& body, const Variables& loop_vars,
                     bool is_test) {
  require(!loop_vars.empty(), "loop_vars of while_loop must hold a variable");
  return all_or_nothing([&] {
    const Variable condition = cond(loop_vars);
    while_block(condition, is_test).run([&] {
      Variables next = variables_of(body(loop_vars));
      require(next.size() == loop_vars.size(),
              "body must return as many variables as loop_vars has, {}, but returns {}",
              loop_vars.size(), next.size());
      // Through copies, since one variable may be computed from another's old value.
      if (next.size() > 1) std::transform(next.begin(), next.end(), next.begin(), copied);
      for (size_t i = 0; i < next.size(); ++i) write(loop_vars[i], next[i]);
      copy_to(condition, cond(loop_vars));
    });
    return loop_vars;
  });
}

struct GuardedBlock::Entered {
  ProgramMark main, startup;
  Block* block;
};

GuardedBlock::GuardedBlock(std::string type, Variable condition, Attrs attrs)
    : type_(std::move(type)), condition_(condition), attrs_(std::move(attrs)) {
  check_one_bool(type_, condition_);
}

void GuardedBlock::enter() {
  ProgramMark main(context().main), startup(context().startup);
  entered_ = std::make_shared<Entered>(
      Entered{std::move(main), std::move(startup), &context().main->enter_block()});
}

void GuardedBlock::leave() {
  require(entered_ != nullptr, "a block of {} is left that was not entered", type_);
  try {
    const Block& inner = *entered_->block;
    inner.program().leave_block();
    append_block_op(type_, condition_, attrs_, inner);
  } catch (...) {
    give_up();
    throw;
  }
  entered_.reset();
}

void GuardedBlock::give_up() {
  if (entered_ == nullptr) return;
  entered_->startup.go_back();
  entered_->main.go_back();
  entered_.reset();
}

void GuardedBlock::run(const std::function<void()>& append) {
  enter();
  try {
    append();
  } catch (...) {
    give_up();
    throw;
  }
  leave();
}

GuardedBlock if_block(Variable condition) {
  return {"conditional_block", condition, {{"is_scalar_condition", true}}};
}

GuardedBlock while_block(Variable condition, bool is_test) {
  return {"while", condition, {{"is_test", is_test}}};
}

GuardedBlock Switch::case_(Variable condition) {
  check_one_bool("conditional_block", condition);
  const auto both = [](Variable x, Variable y) { return op("logical_and", {{"X", x}, {"Y", y}}); };
  const std::optional<Variable> before = none_yet_;
  const Variable refused = op("logical_not", {{"X", condition}});
  none_yet_ = before ? both(*before, refused) : refused;
  return if_block(before ? both(*before, condition) : condition);
}

GuardedBlock Switch::default_() const {
  require(none_yet_.has_value(), "Switch.default() needs a case() before it");
  return if_block(*none_yet_);
}

}  // namespace flotilla::layers
