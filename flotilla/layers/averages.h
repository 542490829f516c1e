// flotilla/layers/averages.h
//
// Averages of parameters, for tests and for what is saved: ops behind those of the optimizer keep
// up variables beside the parameters. Those with do_model_average take part.
//
//   adam(0.001).minimize(loss);
//   ExponentialMovingAverage averages(0.999);
//   averages.update();
//   ...
//   session.run(*averages.swap().apply);  // parameters are their averages
//   session.run(*averages.swap().restore);

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

// Two programs to run: parameters become their averages, and themselves again. In between, their
// own values are kept in the scope, as <name>@OWN.
struct AverageSwap {
  std::shared_ptr<Program> apply = std::make_shared<Program>();
  std::shared_ptr<Program> restore = std::make_shared<Program>();
};

// Averages that follow the parameters: a = decay * a + (1 - decay) * p after each step.
class ExponentialMovingAverage {
 public:
  // `steps`: a variable that counts steps, or none; then the decay is at most (t + 1) / (t + 10).
  explicit ExponentialMovingAverage(double decay = 0.999, const Variables& steps = {},
                                    const std::string& name = {});

  // Appends the ops that move the averages.
  void update() const;
  const AverageSwap& swap() const { return swap_; }

 private:
  std::shared_ptr<Program> program_;
  double decay_;
  Variables steps_;
  Variables parameters_;
  // One for each parameter. They start from zero: `missing_`, the product of all decays so far, is
  // what their weights lack from one.
  Variables averages_;
  Variables missing_;
  AverageSwap swap_;
};

struct ModelAverageOptions {
  std::optional<Variables> parameters = {};  // nothing: all of the current main program
  // The window holds this share of all steps, but from `least` to `most` of them; when it is full,
  // what came before it is dropped.
  double window_rate = 0.15;
  double least = 10000;
  double most = 10000;
  // Long sums lose digits: so many steps are added up by themselves.
  int64_t longest_sum = 16384;
};
// The mean of each parameter over the last steps, counted from when this is made on.
class ModelAverage {
 public:
  // Appends the ops that add up.
  explicit ModelAverage(const ModelAverageOptions& options = {});

  // To be run after a step: before there is no mean.
  const AverageSwap& swap() const { return swap_; }
  // Three for each parameter: of the last steps, of those before them, and of what the window
  // leaves behind. The mean is the sum of all.
  const std::vector<Variables>& sums() const { return sums_; }
  // The variables that count the steps in the sums: their number is the sum of both.
  const std::vector<std::string>& counters() const { return counters_; }

 private:
  std::vector<Variables> sums_;
  std::vector<std::string> counters_;
  AverageSwap swap_;
};

}  // namespace flotilla::layers
