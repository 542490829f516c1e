// flotilla/layers/lr.h
//
// Learning rates that follow the epoch, as paddle.optimizer.lr has them. A rate is a pure function
// of the epoch; LrScheduler counts epochs and asks it. Nothing stands in the program: the rate is
// written into the optimizer's variable before a run. (Schedules inside the program: lr_ops.h.)
//
//   LrScheduler schedule(lr::noam(512, 4000));
//   for (...) { set learning_rate_0 to schedule.get_lr(); run; schedule.step(); }

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flotilla::layers {

// Epochs count from 0.
using LrRate = std::function<double(int64_t epoch)>;

namespace lr {

LrRate constant(double rate);
// rate * d_model^-0.5 * min(t^-0.5, t * warmup^-1.5), and 0 at t = 0.
LrRate noam(double d_model, double warmup_steps, double rate = 1);
// values[i] until boundaries[i]; the boundary is the first epoch of the next value.
// REQUIRES: one value more than boundaries, which ascend.
LrRate piecewise(std::vector<int64_t> boundaries, std::vector<double> values);
LrRate natural_exp(double rate, double gamma);   // rate * exp(-gamma t)
LrRate inverse_time(double rate, double gamma);  // rate / (1 + gamma t)
LrRate exponential(double rate, double gamma);   // rate * gamma^t
// (rate - end) * (1 - t / steps)^power + end. After `steps` it stays, or with `cycle` the steps
// grow to the next multiple.
LrRate polynomial(double rate, int64_t steps, double end = 0.0001, double power = 1,
                  bool cycle = false);
// From start to end in `steps` epochs, then what `after` says, counted from 0 again.
LrRate linear_warmup(LrRate after, int64_t steps, double start, double end);
// Times gamma at each milestone. REQUIRES: milestones ascend.
LrRate multi_step(double rate, std::vector<int64_t> milestones, double gamma = 0.1);
// Times gamma every `step_size` epochs.
LrRate step(double rate, int64_t step_size, double gamma = 0.1);
// end + (rate - end) * (1 + cos(pi t / t_max)) / 2, and back up after t_max.
LrRate cosine_annealing(double rate, int64_t t_max, double end = 0);
// Times a factor of each epoch, or of this epoch and all before it from 1 on.
LrRate times(double rate, std::function<double(int64_t epoch)> factor);
LrRate times_each(double rate, std::function<double(int64_t epoch)> factor);
// Times a factor that goes from `first` to `last` in `steps` epochs.
LrRate linear(double rate, double steps, double first = 1.0 / 3, double last = 1);
// A half cosine from rate to `end` in `steps` epochs, then again, `factor` times as long. Both are
// whole numbers.
LrRate cosine_warm_restarts(double rate, double steps, double factor = 1, double end = 0);

// What the height of a cycle is times, from the number of the cycle or of the epoch.
struct CycleScale {
  std::function<double(double)> at = [](double) { return 1.0; };
  bool of_epoch = false;
};
// `mode`: "triangular"; "triangular2" halves the height of each cycle; "exp_range" makes it
// gamma^epoch.
CycleScale cycle_scale(const std::string& mode, double gamma = 1);
// Up from `low` to `high` in `up` epochs, and back in `down`.
LrRate cyclic(double low, double high, double up, double down, CycleScale scale = {});

struct OneCycleOptions {
  double divide_factor = 25;
  double end = 0.0001;
  double share = 0.3;            // of the epochs that go up
  std::string strategy = "cos";  // or "linear"
  bool three_phase = false;      // first back to where it began, as fast as it went up
};
// From high / divide_factor up to `high`, then to `end`, in `steps` epochs, beyond which it
// refuses.
LrRate one_cycle(double high, double steps, const OneCycleOptions& options = {});

}  // namespace lr

class LrScheduler {
 public:
  // Starts at epoch last_epoch + 1.
  explicit LrScheduler(LrRate rate, int64_t last_epoch = -1);

  double get_lr() const { return last_lr_; }
  // To the next epoch, or to the one given.
  void step(std::optional<int64_t> epoch = {});

  int64_t last_epoch() const { return last_epoch_; }
  // What a checkpoint keeps.
  struct State {
    int64_t last_epoch = 0;
    double last_lr = 0;
  };
  State state() const { return {last_epoch_, last_lr_}; }
  void set_state(const State& state);

 private:
  LrRate rate_;
  int64_t last_epoch_;
  double last_lr_ = 0;
};

struct PlateauOptions {
  bool larger_is_better = false;
  double factor = 0.1;
  int64_t patience = 10;  // epochs without improvement that are let pass
  double threshold = 1e-4;
  bool relative = true;  // the threshold is a share of the best value, not a difference
  int64_t cooldown = 0;  // epochs after a reduction that do not count
  double min_lr = 0;
  double epsilon = 1e-8;  // smaller reductions are not made
};

// Reduces the rate when a metric stops getting better.
class ReduceOnPlateau {
 public:
  ReduceOnPlateau(double rate, const PlateauOptions& options = {});

  double get_lr() const { return state_.last_lr; }
  // An epoch ended with this metric. Whether the rate was reduced.
  bool step(double metric, std::optional<int64_t> epoch = {});

  struct State {
    int64_t last_epoch = 0;
    double last_lr = 0;
    std::optional<double> best = {};
    int64_t cooldown_counter = 0;
    int64_t num_bad_epochs = 0;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }
  const PlateauOptions& options() const { return options_; }

 private:
  bool is_better(double metric) const;

  PlateauOptions options_;
  State state_;
};

}  // namespace flotilla::layers
