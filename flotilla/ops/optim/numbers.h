// flotilla/ops/optim/numbers.h
//
// The numbers that an op gives to the step of its rule: what a plan knows of them, and where the
// rest lies. Kernels of every device read them here.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/host_device.h"
#include "flotilla/ops/optim/update.h"

namespace flotilla::ops {

// A number in memory that a Step may read, f32 or f64.
struct NumberAt {
  const void* place = nullptr;
  bool is_double = false;

  static NumberAt of(const float* place) { return {place, false}; }
  static NumberAt of(const double* place) { return {place, true}; }
  template <typename T>
  FLT_FN T get() const {
    return is_double ? static_cast<T>(*static_cast<const double*>(place))
                     : static_cast<T>(*static_cast<const float*>(place));
  }
};

// A tensor of one element that holds one.
class NumberIn {
 public:
  NumberIn() = default;
  NumberIn(PrepareContext& c, std::string_view slot, size_t i = 0)
      : single_(c.dtype(slot, i) == f32 ? c.in<float>(slot, i) : In<float>()),
        double_(c.dtype(slot, i) == f32 ? In<double>() : c.in<double>(slot, i)) {}

  explicit operator bool() const { return single_ || double_; }
  NumberAt at() const {
    return single_ ? NumberAt::of(single_.data()) : NumberAt::of(double_.data());
  }
  template <typename T>
  T get() const {
    return at().get<T>();
  }

 private:
  In<float> single_;
  In<double> double_;
};

// Whether the op is given an input that its definition knows: the fused form lacks some of those
// that the op of one parameter has, and nobody measures what it does not know.
inline bool takes(const PrepareContext& c, const std::string& slot) {
  return c.has(slot) && op_def(c.op().type()).find_input(slot) != nullptr;
}

// The numbers of parameter i, from attributes and from tensors.
template <typename T>
class NumbersOf {
 public:
  NumbersOf(PrepareContext& c, const update::Rule& rule, size_t i) {
    same_.lr = rule.lr.value_or(0);
    // A fused op has one learning rate for all, an op that takes lists one for each.
    if (takes(c, "LearningRate")) lr_ = NumberIn(c, "LearningRate", rule.lists ? i : 0);
    read_settings(c, rule, i);
    if (rule.takes_l2) same_.l2 = static_cast<T>(l2_of(c, i));
    for (const update::Power& power : rule.powers) read_power(c, power, rule, i);
    keeps_powers_ = !rule.keeps_powers.empty() && c.attr<bool>(rule.keeps_powers);
  }

  struct PowerOf {
    size_t base = 0;  // the setting
    In<T> in = {};
    Out<T> out = {};
    NumberIn number = {};  // instead of `in`, where it is only read

    NumberAt at() const { return in ? NumberAt::of(in.data()) : number.at(); }
  };

  // Without those that lie in tensors.
  const update::Numbers<T>& known() const { return same_; }
  const NumberIn& lr() const { return lr_; }  // where it is empty, known() has it
  const std::vector<std::pair<size_t, NumberIn>>& tensors() const {
    return tensors_;
  }  // by setting
  const std::vector<PowerOf>& powers() const { return powers_; }
  bool keeps_powers() const { return keeps_powers_; }

  // All of them, as they are in this run; on the CPU, as is advance().
  update::Numbers<T> get() const {
    update::Numbers<T> numbers = same_;
    if (lr_) numbers.lr = lr_.get<double>();
    for (const auto& [setting, tensor] : tensors_) {
      numbers.settings[setting] = tensor.template get<T>();
    }
    for (size_t i = 0; i < powers_.size(); ++i)
      numbers.powers[i] = powers_[i].at().template get<T>();
    return numbers;
  }

  // Leaves the powers of the next step, or those that came.
  void advance(const update::Numbers<T>& numbers, bool skips) const {
    const bool keep = keeps_powers_ || skips;
    for (size_t i = 0; i < powers_.size(); ++i) {
      if (!powers_[i].out) continue;
      *powers_[i].out.data() = numbers.powers[i] * (keep ? T{1} : numbers[powers_[i].base]);
    }
  }

 private:
  void read_settings(PrepareContext& c, const update::Rule& rule, size_t i) {
    for (size_t s = 0; s < rule.settings.size(); ++s) {
      const update::Setting& setting = rule.settings[s];
      if (!setting.op) continue;
      if (!setting.tensor.empty() && takes(c, setting.tensor)) {
        tensors_.emplace_back(s, NumberIn(c, setting.tensor));
      }
      if (std::holds_alternative<bool>(*setting.op)) {
        same_.settings[s] = c.attr<bool>(setting.name) ? T{1} : T{0};
      } else if (std::holds_alternative<float>(*setting.op)) {
        same_.settings[s] = static_cast<T>(c.attr<float>(setting.name));
      } else if (std::holds_alternative<std::vector<float>>(*setting.op)) {
        const std::vector<float> all = list_setting(c.op(), op_def(c.op().type()), setting.name);
        same_.settings[s] = static_cast<T>(all[all.size() == 1 ? 0 : i]);
      }
    }
  }

  void read_power(PrepareContext& c, const update::Power& power, const update::Rule& rule,
                  size_t i) {
    PowerOf one = {.base = rule.index_of(power.base)};
    const std::string out = power.slot + "Out";
    if (power.by == update::Power::kProgram) {
      one.number = NumberIn(c, power.slot, i);
    } else {
      one.in = c.in<T>(power.slot, i);
      if (power.by == update::Power::kOp || c.has(out, i)) {
        c.in_place(power.slot, out, i, i);
        one.out = c.out<T>(out, i);
      }
    }
    powers_.push_back(std::move(one));
  }

  static float l2_of(const PrepareContext& c, size_t i) {
    if (c.op().type().starts_with(kFused)) {
      const auto coeffs = c.attr<std::vector<float>>("regularization_coeffs");
      require(coeffs.empty() || coeffs.size() == c.count("Param"),
              "regularization_coeffs must hold a number for each of {} parameters, but holds {}",
              c.count("Param"), coeffs.size());
      if (!coeffs.empty()) return coeffs[i];
    }
    const bool decays = c.attr<std::string>("regularization_method") == "l2_decay";
    return decays ? c.attr<float>("regularization_coeff") : 0;
  }

  update::Numbers<T> same_ = {};
  NumberIn lr_;
  std::vector<std::pair<size_t, NumberIn>> tensors_;  // by setting
  std::vector<PowerOf> powers_;
  bool keeps_powers_ = false;
};

}  // namespace flotilla::ops
