#include "flotilla/layers/averages.h"

#include <functional>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// The parameters, of the program or of a list, that want an average.
Variables averaged(const std::optional<Variables>& among = {}) {
  Variables wanted;
  const auto consider = [&](Var& one) {
    if (one.parameter && one.parameter->do_model_average) wanted.push_back(one);
  };
  if (among) {
    for (const Variable& one : *among) consider(one);
  } else {
    for (Var* one : context().main->parameters()) consider(*one);
  }
  return wanted;
}

Variable state(const std::string& name, const Shape& shape, double value, DType dtype) {
  return create_global_var(shape, value, dtype, true, context().names.generate(name));
}

Variable beside(Variable parameter, const std::string& name) {
  return state(name, parameter.shape(), 0, parameter.dtype());
}

void assign_to(Variable target, Variable value) {
  op("assign", {{"X", value}}, {}, {.out = target.name()});
}

// Layers append to a program, with names of its own, while it lives.
class Aside {
 public:
  explicit Aside(const std::shared_ptr<Program>& program) : program_(program) {}

 private:
  ProgramGuard program_;
  NameGuard names_;
};

// The variable of the scope that `var` is, in the current program.
Variable here(const Var& var, const std::string& name) {
  Block& block = context().main->global_block();
  if (Var* existing = block.find_var(name)) return *existing;
  return block.add_var({.name = name, .dtype = var.dtype, .shape = var.shape, .persistable = true});
}
Variable here(Variable var) { return here(var, var.name()); }
Variable kept(Variable var) { return here(var, var.name() + "@OWN"); }

void append_swap(const AverageSwap& swap, Variable parameter,
                 const std::function<Variable()>& average) {
  {
    const Aside aside(swap.apply);
    assign_to(kept(parameter), here(parameter));
    assign_to(here(parameter), average());
  }
  const Aside aside(swap.restore);
  assign_to(here(parameter), kept(parameter));
}

// The larger part of a decay, for steps that are few.
Variable young(Variable steps, double decay) {
  const Variable count = cast(steps, f32);
  const Variable more = count + 1, most = count + 10;
  return binary("elementwise_min", more / most, decay);
}

// recent + parameter; at times recent goes to `older`, and both to `before`.
Variables append_sums(Variable parameter, Variable full, Variable long_enough) {
  const auto part = [&](int number) {
    return beside(parameter, fmt::format("{}_sum_{}", parameter.name(), number));
  };
  const Variable recent = part(1), older = part(2), before = part(3);
  assign_to(recent, recent + parameter);
  assign_to(older, older + recent * long_enough);
  assign_to(recent, recent * (1 - long_enough));
  const Variable both = (recent + older) * full;
  assign_to(before, both + before * (1 - full));
  assign_to(recent, recent * (1 - full));
  assign_to(older, older * (1 - full));
  return {recent, older, before};
}

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(double decay, const Variables& steps,
                                                   const std::string& name)
    : program_(context().main), decay_(decay), steps_(steps), parameters_(averaged()) {
  for (const Variable& one : parameters_) {
    averages_.push_back(beside(one, fmt::format("{}{}_ema", name, one.name())));
  }
  missing_ = state(name + "ema_missing", {1}, 1, f32);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    append_swap(swap_, parameters_[i], [&] {
      // Before the first step the average is zero, and so is what there is of it.
      const Variable there = binary("elementwise_max", 1 - here(missing_.front()), 1e-30);
      return here(averages_[i]) / there;
    });
  }
}

void ExponentialMovingAverage::update() const {
  const RoleGuard role(*context().main, kOptimizeRole);
  const Operand decay = steps_.empty() ? Operand(decay_) : Operand(young(steps_.front(), decay_));
  const Variable missing = missing_.front();
  assign_to(missing, missing * decay);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Variable kept = averages_[i] * decay;
    const Operand rest = decay.var() == nullptr ? Operand(1 - decay.number()) : Operand(1 - decay);
    assign_to(averages_[i], kept + parameters_[i] * rest);
  }
}

ModelAverage::ModelAverage(const ModelAverageOptions& options) {
  const auto counter = [](const char* name) { return state(name, {1}, 0, i64); };
  const Variable steps = counter("average_steps"), now = counter("average_now"),
                 before = counter("average_before");
  const RoleGuard role(*context().main, kOptimizeRole);
  assign_to(steps, steps + 1);
  assign_to(now, now + 1);
  const Variable share = op("floor", {{"X", cast(steps, f32) * options.window_rate}});
  const Variable window = binary("elementwise_min", share, options.most);
  const Variable count = cast(now, f32);
  const Variable enough = count >= options.least;
  const Variable wide = count >= window;
  const Variable full = cast(op("logical_and", {{"X", enough}, {"Y", wide}}), f32);
  const Variable rest = binary("elementwise_mod", steps, options.longest_sum);
  const Variable long_enough = cast(binary("equal", rest, 0), f32);
  for (const Variable& parameter : averaged(options.parameters)) {
    const Variables sums = append_sums(parameter, full, long_enough);
    sums_.push_back(sums);
    append_swap(swap_, parameter, [&] {
      const Variable sum = op("sum", {{"X", {here(sums[0]), here(sums[1]), here(sums[2])}}});
      return sum / cast(here(now) + here(before), sum.dtype());
    });
  }
  const Variable flag = cast(full, i64);
  const Variable counted = flag * now, others = 1 - flag;
  assign_to(before, counted + others * before);
  assign_to(now, (1 - flag) * now);
  counters_ = {now.name(), before.name()};
}

}  // namespace flotilla::layers
