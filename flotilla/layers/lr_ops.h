// flotilla/layers/lr_ops.h
//
// Learning rates computed inside the program, as fluid.layers has them: ops with the role of a
// schedule, and the counter @LR_DECAY_COUNTER@, which each run of the program moves on by one. All
// give a variable of one element for OptimizerOptions::learning_rate_var.
//
// There is no control flow: a choice between values is a sum of values times masks of 0 and 1,
// which is exact.

#pragma once

#include <vector>

#include "flotilla/layers/variable.h"

namespace flotilla::layers {

// The counter starts at 1 here and at 0 in the others.
Variable noam_decay(double d_model, double warmup_steps, double learning_rate = 1);
// rate * decay_rate^(t / decay_steps); with staircase the quotient is cut to a whole number.
Variable exponential_decay(double rate, double decay_steps, double decay_rate,
                           bool staircase = false);
Variable natural_exp_decay(double rate, double decay_steps, double decay_rate,
                           bool staircase = false);
Variable inverse_time_decay(double rate, double decay_steps, double decay_rate,
                            bool staircase = false);
Variable polynomial_decay(double rate, double decay_steps, double end_learning_rate = 0.0001,
                          double power = 1, bool cycle = false);
// REQUIRES: one value more than boundaries, which ascend.
Variable piecewise_decay(const std::vector<double>& boundaries, const std::vector<double>& values);
// rate / 2 * (cos(epoch * pi / epochs) + 1), where an epoch has step_each_epoch runs.
Variable cosine_decay(double rate, double step_each_epoch, double epochs);
// From start to end in `warmup_steps` runs, then `after`: a number or another schedule.
Variable linear_lr_warmup(const Operand& after, double warmup_steps, double start, double end);

}  // namespace flotilla::layers
