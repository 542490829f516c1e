#include "flotilla/layers/lr.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

LrRate times(double rate, std::function<double(int64_t)> factor) {
  return [rate, factor = std::move(factor)](int64_t epoch) { return rate * factor(epoch); };
}

LrRate times_each(double rate, std::function<double(int64_t)> factor) {
  return [rate, factor = std::move(factor)](int64_t epoch) {
    double made = rate;
    for (int64_t one = 1; one <= epoch; ++one) made *= factor(one);
    return made;
  };
}

LrRate linear(double rate, double steps, double first, double last) {
  require(0 < first && first <= 1, "start_factor must lie in (0, 1], but is {}", first);
  require(0 <= last && last <= 1, "end_factor must lie in [0, 1], but is {}", last);
  require(steps > 0, "total_steps must be above zero, but is {}", steps);
  return [=](int64_t epoch) {
    const double share = std::min(static_cast<double>(epoch), steps) / steps;
    return rate * (first + (last - first) * share);
  };
}

LrRate cosine_warm_restarts(double rate, double steps, double factor, double end) {
  const auto require_whole = [](const char* what, double value) {
    require(value >= 1 && value == std::trunc(value),
            "{} must be a whole number of 1 or more, but is {}", what, value);
  };
  require_whole("T_0", steps);
  require_whole("T_mult", factor);
  return [=](int64_t epoch) {
    double place = static_cast<double>(epoch), length = steps;
    for (; place >= length; length *= factor) place -= length;
    return end + (rate - end) / 2 * (1 + std::cos(std::numbers::pi * place / length));
  };
}

CycleScale cycle_scale(const std::string& mode, double gamma) {
  if (mode == "triangular2") return {[](double cycle) { return 1 / std::pow(2.0, cycle - 1); }};
  if (mode == "exp_range") return {[=](double epoch) { return std::pow(gamma, epoch); }, true};
  require(mode == "triangular",
          "mode must be one of triangular, triangular2, exp_range, but is '{}'", mode);
  return {};
}

LrRate cyclic(double low, double high, double up, double down, CycleScale scale) {
  require(up > 0 && down > 0, "steps must be above zero, but are {} and {}", up, down);
  return [=, scale = std::move(scale)](int64_t epoch) {
    const double now = static_cast<double>(epoch), whole = up + down;
    const double cycle = 1 + std::floor(now / whole);
    const double place = now - (cycle - 1) * whole;
    const double share = place <= up ? place / up : (whole - place) / down;
    return low + (high - low) * share * scale.at(scale.of_epoch ? now : cycle);
  };
}

LrRate one_cycle(double high, double steps, const OneCycleOptions& options) {
  const double share = options.share, low = high / options.divide_factor, rise = share * steps;
  const bool cosine = options.strategy == "cos";
  require(cosine || options.strategy == "linear",
          "anneal_strategy must be \"cos\" or \"linear\", but is '{}'", options.strategy);
  require(0 <= share && share <= (options.three_phase ? 0.5 : 1.0),
          "phase_pct must be a share of the steps, but is {}", share);
  require(steps > 0, "total_steps must be above zero, but is {}", steps);
  std::vector<double> ends = {0, rise - 1, steps - 1}, rates = {low, high, options.end};
  if (options.three_phase) {
    ends.insert(ends.begin() + 2, 2 * rise - 2);
    rates.insert(rates.begin() + 2, low);
  }
  return [=](int64_t epoch) {
    const double now = static_cast<double>(epoch);
    require(now <= steps, "step {} is beyond total_steps, {}", epoch, steps);
    size_t to = 1;
    while (to + 1 < ends.size() && now > ends[to]) ++to;
    const double done = (now - ends[to - 1]) / (ends[to] - ends[to - 1]);
    const double part = cosine ? (1 - std::cos(std::numbers::pi * done)) / 2 : done;
    return rates[to - 1] + (rates[to] - rates[to - 1]) * part;
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
