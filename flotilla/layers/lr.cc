#include "flotilla/layers/lr.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "flotilla/base/error.h"

namespace flotilla::layers {
namespace {

void require_ascending(const std::vector<int64_t>& numbers, const char* what) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    require(numbers[i - 1] < numbers[i], "{} must ascend, but {} comes before {}", what,
            numbers[i - 1], numbers[i]);
  }
}

// How many of the ascending numbers are at most `epoch`.
size_t passed(const std::vector<int64_t>& numbers, int64_t epoch) {
  return static_cast<size_t>(
      std::distance(numbers.begin(), std::upper_bound(numbers.begin(), numbers.end(), epoch)));
}

}  // namespace

namespace lr {

LrRate constant(double rate) {
  return [rate](int64_t) { return rate; };
}

LrRate noam(double d_model, double warmup_steps, double rate) {
  require(d_model > 0, "d_model must be positive, but is {}", d_model);
  return [=](int64_t epoch) {
    const double t = static_cast<double>(epoch);
    const double decay = epoch == 0 ? 1 : std::pow(t, -0.5);
    return rate * std::pow(d_model, -0.5) * std::min(decay, t * std::pow(warmup_steps, -1.5));
  };
}

LrRate piecewise(std::vector<int64_t> boundaries, std::vector<double> values) {
  require(values.size() == boundaries.size() + 1, "{} boundaries need {} values, but {} were given",
          boundaries.size(), boundaries.size() + 1, values.size());
  require_ascending(boundaries, "boundaries");
  return [boundaries = std::move(boundaries), values = std::move(values)](int64_t epoch) {
    return values[passed(boundaries, epoch)];
  };
}

LrRate natural_exp(double rate, double gamma) {
  return [=](int64_t epoch) { return rate * std::exp(-gamma * static_cast<double>(epoch)); };
}

LrRate inverse_time(double rate, double gamma) {
  return [=](int64_t epoch) { return rate / (1 + gamma * static_cast<double>(epoch)); };
}

LrRate exponential(double rate, double gamma) {
  return [=](int64_t epoch) { return rate * std::pow(gamma, static_cast<double>(epoch)); };
}

LrRate polynomial(double rate, int64_t steps, double end, double power, bool cycle) {
  require(steps > 0, "decay_steps must be positive, but is {}", steps);
  return [=](int64_t epoch) {
    double t = static_cast<double>(epoch);
    double span = static_cast<double>(steps);
    if (cycle) {
      span *= std::max(1.0, std::ceil(t / span));
    } else {
      t = std::min(t, span);
    }
    return (rate - end) * std::pow(1 - t / span, power) + end;
  };
}

LrRate linear_warmup(LrRate after, int64_t steps, double start, double end) {
  require(steps > 0, "warmup_steps must be positive, but is {}", steps);
  return [=, after = std::move(after)](int64_t epoch) {
    if (epoch >= steps) return after(epoch - steps);
    return (end - start) * static_cast<double>(epoch) / static_cast<double>(steps) + start;
  };
}

LrRate multi_step(double rate, std::vector<int64_t> milestones, double gamma) {
  require_ascending(milestones, "milestones");
  return [=, milestones = std::move(milestones)](int64_t epoch) {
    return rate * std::pow(gamma, static_cast<double>(passed(milestones, epoch)));
  };
}

LrRate step(double rate, int64_t step_size, double gamma) {
  require(step_size > 0, "step_size must be positive, but is {}", step_size);
  return [=](int64_t epoch) {
    const int64_t steps = epoch / step_size;
    return rate * std::pow(gamma, static_cast<double>(steps));
  };
}

LrRate cosine_annealing(double rate, int64_t t_max, double end) {
  require(t_max > 0, "T_max must be positive, but is {}", t_max);
  return [=](int64_t epoch) {
    const double angle = std::numbers::pi * static_cast<double>(epoch) / static_cast<double>(t_max);
    return end + (rate - end) * (1 + std::cos(angle)) / 2;
  };
}

}  // namespace lr

LrScheduler::LrScheduler(LrRate rate, int64_t last_epoch)
    : rate_(std::move(rate)), last_epoch_(last_epoch) {
  step();
}

void LrScheduler::step(std::optional<int64_t> epoch) {
  last_epoch_ = epoch.value_or(last_epoch_ + 1);
  last_lr_ = rate_(last_epoch_);
}

void LrScheduler::set_state(const State& state) {
  last_epoch_ = state.last_epoch;
  last_lr_ = state.last_lr;
}

ReduceOnPlateau::ReduceOnPlateau(double rate, const PlateauOptions& options) : options_(options) {
  require(options.factor < 1, "factor must be less than 1, but is {}", options.factor);
  state_.last_lr = rate;
}

bool ReduceOnPlateau::is_better(double metric) const {
  if (!state_.best) return true;
  const double best = *state_.best;
  const double margin = options_.relative ? best * options_.threshold : options_.threshold;
  return options_.larger_is_better ? metric > best + margin : metric < best - margin;
}

bool ReduceOnPlateau::step(double metric, std::optional<int64_t> epoch) {
  state_.last_epoch = epoch.value_or(state_.last_epoch + 1);
  if (state_.cooldown_counter > 0) {
    --state_.cooldown_counter;
    return false;
  }
  if (is_better(metric)) {
    state_.best = metric;
    state_.num_bad_epochs = 0;
  } else {
    ++state_.num_bad_epochs;
  }
  if (state_.num_bad_epochs <= options_.patience) return false;
  state_.cooldown_counter = options_.cooldown;
  state_.num_bad_epochs = 0;
  const double reduced = std::max(state_.last_lr * options_.factor, options_.min_lr);
  if (state_.last_lr - reduced <= options_.epsilon) return false;
  state_.last_lr = reduced;
  return true;
}

}  // namespace flotilla::layers
