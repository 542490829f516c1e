// flotilla/ps/rule.h
//
// The update rule of a table, applied with the code of the optimizer ops (flotilla/update). A rule
// sees a run of parameters with their state behind each other:
//
//   param[n]                                                          sgd
//   param[n] velocity[n]                                              momentum
//   param[n] moment1[n] moment2[n] {beta1_power beta2_power}          adam, adamw; {}: row_powers
//   param[n] moment[n]                                                adagrad
//   param[n] square[n] linear[n]                                      ftrl
//   param[n] mean_square[n] moment[n] {mean_grad[n]}                  rmsprop; {}: centered
//   param[n] square_grad[n] square_step[n]                            adadelta
//   param[n] moment[n] norm[n]                                        adamax
//
// A row that a push leaves out stays as it is: Adam is what the op calls lazy, Momentum's velocity
// waits.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "flotilla/ps/table.h"
#include "flotilla/update/adadelta.h"
#include "flotilla/update/adam.h"
#include "flotilla/update/adamax.h"
#include "flotilla/update/ftrl.h"
#include "flotilla/update/momentum.h"
#include "flotilla/update/rmsprop.h"

namespace flotilla::ps {

// What is the same for all rows of a push.
struct Round {
  float lr = 0;
  // Adam's and Adamax's powers of this step, unless rows count their own.
  float beta1_power = 0;
  float beta2_power = 0;
};

// Where a table stands between two pushes.
struct Powers {
  float beta1 = 0;
  float beta2 = 0;

  bool operator==(const Powers&) const = default;
};

// Names the table whose gradients are not finite: at the first, the second, the fourth, ...
void warn_of_refusal(const TableSpec& table, int64_t refused, std::string_view what);

class Rule {
 public:
  explicit Rule(const TableSpec& table);

  // Floats of state that belong to `n` parameters.
  int64_t state_size(int64_t n) const { return arrays_ * n + (row_powers_ ? 2 : 0); }
  // Fills the state of parameters that nothing was pushed to yet.
  void start(std::span<float> state, int64_t n) const;

  // Whether gradients need decay() before apply().
  bool decays() const { return l1_ != 0 || l2_ != 0; }
  void decay(std::span<const float> param, std::span<float> grad) const;

  // One step. REQUIRES: state.size() == state_size(param.size()), grad.size() == param.size()
  void apply(std::span<float> param, std::span<const float> grad, std::span<float> state,
             const Round& round) const;

  Powers first_powers() const { return {adam_.beta1, adam_.beta2}; }
  // The powers of the step after this one, as the op leaves them.
  Powers next(const Powers& now) const {
    return {now.beta1 * adam_.beta1, now.beta2 * adam_.beta2};
  }

 private:
  enum Kind { kSgd, kMomentum, kAdam, kAdagrad, kFtrl, kRmsprop, kAdadelta, kAdamax };

  void adam_step(std::span<float> param, std::span<const float> grad, std::span<float> state,
                 const Round& round) const;

  Kind kind_ = kSgd;
  int64_t arrays_ = 0;
  bool row_powers_ = false;
  float l1_ = 0;
  float l2_ = 0;
  float lr_ratio_ = 1;
  float first_moment_ = 0;  // Adagrad's
  float adagrad_epsilon_ = 0;
  update::Adam<float> adam_ = {};
  update::Momentum<float> momentum_ = {};
  update::Ftrl<float> ftrl_ = {};
  update::Rmsprop<float> rmsprop_ = {};
  update::Adadelta<float> adadelta_ = {};
  update::Adamax<float> adamax_ = {};
};

}  // namespace flotilla::ps
