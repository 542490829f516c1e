// flotilla/ps/rule.h
//
// The update rule of a table: a rule of flotilla/update/rule.h, whose value names its parameters
// and its state. It sees a run of parameters with their state behind each other:
//
//   param[n] {state[n]} {power}      powers: where row_powers is set
//
//   param[n] moment1[n] moment2[n]                                    adam
//   param[n] moment1[n] moment2[n] beta1_power beta2_power            adam(row_powers=1)
//
// A row that a push leaves out stays as it is: Adam is what the op calls lazy, Momentum's velocity
// waits. A layerwise rule (lamb, lars_momentum) takes the norms of the run: of a sparse table's
// row, and of a dense table, which one server therefore holds alone (slice_of).

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "flotilla/ps/table.h"
#include "flotilla/update/rule.h"

namespace flotilla::ps {

// What is the same for all rows of a push.
struct Round {
  float lr = 0;
  // The rule's powers of this step, unless rows count their own.
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
  int64_t state_size(int64_t n) const {
    return arrays_ * n + (row_powers_ ? std::ssize(rule_->powers) : 0);
  }
  // Fills the state of parameters that nothing was pushed to yet.
  void start(std::span<float> state, int64_t n) const;

  // Whether gradients need decay() before apply().
  bool decays() const { return l1_ != 0 || l2_ != 0; }
  void decay(std::span<const float> param, std::span<float> grad) const;

  // One step. REQUIRES: state.size() == state_size(param.size()), grad.size() == param.size()
  void apply(std::span<float> param, std::span<const float> grad, std::span<float> state,
             const Round& round) const;

  Powers first_powers() const { return bases_; }
  // The powers of the step after this one, as the op leaves them.
  Powers next(const Powers& now) const {
    return {now.beta1 * bases_.beta1, now.beta2 * bases_.beta2};
  }

 private:
  const update::Rule* rule_;
  update::Numbers<float> numbers_ = {};
  std::array<bool, update::kMaxStates> used_ = {};  // states that no switch takes away
  int64_t arrays_ = 0;
  bool row_powers_ = false;
  Powers bases_ = {};  // 0 where the rule has none
  float l1_ = 0;
  float l2_ = 0;
};

}  // namespace flotilla::ps
