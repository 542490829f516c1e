#include "flotilla/layers/lr_ops.h"

#include <cmath>
#include <numbers>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

constexpr const char* kCounter = "@LR_DECAY_COUNTER@";

// How many runs the program has made, as a float. The first schedule of a program makes the
// counter.
Variable runs_so_far(int64_t first) {
  return cast(autoincreased_step_counter(kCounter, first), f32);
}

// Every op appended while it lives belongs to a schedule.
class ScheduleRole {
 private:
  RoleGuard role_{*context().main, kLrSchedRole};
};

Variable number(double value) { return full({1}, value); }

// 1 where t < limit, otherwise 0.
Variable before(Variable t, double limit) { return cast(t < number(limit), f32); }

Variable epochs_of(Variable t, double decay_steps, bool staircase) {
  const Variable quotient = t / decay_steps;
  return staircase ? op("floor", {{"X", quotient}}) : quotient;
}

Variable power(const Operand& base, const Operand& exponent) {
  return binary("elementwise_pow", base, exponent);
}

// A rate that lives in the scope under a name of 1.x, where programs look it up and save it.
Variable kept(const char* name, Variable rate) {
  LayerHelper helper("learning_rate");
  const Variable var = helper.global_var(name, {1}, f32, constant(0));
  helper.append("assign", {{"X", {rate.name()}}}, {{"Out", {name}}});
  return var;
}

}  // namespace

Variable noam_decay(double d_model, double warmup_steps, double learning_rate) {
  const ScheduleRole role;
  const Variable t = runs_so_far(1);
  const Variable falling = power(t, -0.5);
  const Variable rising = t * std::pow(warmup_steps, -1.5);
  return elementwise("elementwise_min", falling, rising) *
         (learning_rate * std::pow(d_model, -0.5));
}

Variable exponential_decay(double rate, double decay_steps, double decay_rate, bool staircase) {
  const ScheduleRole role;
  return power(decay_rate, epochs_of(runs_so_far(0), decay_steps, staircase)) * rate;
}

Variable natural_exp_decay(double rate, double decay_steps, double decay_rate, bool staircase) {
  const ScheduleRole role;
  const Variable t = epochs_of(runs_so_far(0), decay_steps, staircase);
  return op("exp", {{"X", t * -decay_rate}}) * rate;
}

Variable inverse_time_decay(double rate, double decay_steps, double decay_rate, bool staircase) {
  const ScheduleRole role;
  return rate / (epochs_of(runs_so_far(0), decay_steps, staircase) * decay_rate + 1);
}

Variable polynomial_decay(double rate, double decay_steps, double end, double exponent,
                          bool cycle) {
  const ScheduleRole role;
  const Variable t = runs_so_far(0);
  Variable done = t;  // the share of the steps that lies behind
  if (cycle) {
    const Variable begun = op("ceil", {{"X", t / decay_steps}});
    const Variable rounds = elementwise("elementwise_max", begun, number(1));
    done = t / (rounds * decay_steps);
  } else {
    done = elementwise("elementwise_min", t, number(decay_steps)) / decay_steps;
  }
  return power(1 - done, exponent) * (rate - end) + end;
}

Variable piecewise_decay(const std::vector<double>& boundaries, const std::vector<double>& values) {
  require(values.size() == boundaries.size() + 1, "{} boundaries need {} values, but {} were given",
          boundaries.size(), boundaries.size() + 1, values.size());
  const ScheduleRole role;
  const Variable t = runs_so_far(0);
  Variables parts;
  Variable mask_before = number(0);
  for (size_t i = 0; i < values.size(); ++i) {
    const Variable mask = i < boundaries.size() ? before(t, boundaries[i]) : number(1);
    parts.push_back((mask - mask_before) * values[i]);
    mask_before = mask;
  }
  return kept("learning_rate", op("sum", {{"X", parts}}));
}

Variable cosine_decay(double rate, double step_each_epoch, double epochs) {
  const ScheduleRole role;
  const Variable epoch = epochs_of(runs_so_far(0), step_each_epoch, true);
  return (op("cos", {{"X", epoch * (std::numbers::pi / epochs)}}) + 1) * (rate / 2);
}

Variable linear_lr_warmup(const Operand& after, double warmup_steps, double start, double end) {
  const ScheduleRole role;
  const Variable t = runs_so_far(0);
  const Variable warming = before(t, warmup_steps);
  const Variable rising = t * ((end - start) / warmup_steps) + start;
  const Variable first = warming * rising;
  const Variable then = (1 - warming) * after;
  return kept("learning_rate_warmup", first + then);
}

}  // namespace flotilla::layers
