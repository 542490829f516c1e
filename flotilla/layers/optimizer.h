// flotilla/layers/optimizer.h
//
// Optimizers: the gradient of a loss, clipped, regularised, and one update op per parameter. Which
// accumulators and settings an optimizer has is said by its update rule (update/rule.h).

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/autodiff/backward.h"
#include "flotilla/layers/helper.h"

namespace flotilla::layers {

struct GradClip {
  enum Kind { kNone, kByValue, kByNorm, kByGlobalNorm };
  Kind kind = kNone;
  float max = 0;  // value: upper bound; norm: the largest that is left alone
  float min = 0;  // value: lower bound
  // Global norm: gradients are overwritten, as in 2.x. In 1.x `w@GRAD` stays what it was.
  bool in_place = true;
};
inline GradClip clip_by_value(float min, float max) { return {GradClip::kByValue, max, min}; }
inline GradClip clip_by_norm(float max) { return {GradClip::kByNorm, max}; }
inline GradClip clip_by_global_norm(float max) { return {GradClip::kByGlobalNorm, max}; }

struct OptimizerOptions {
  double learning_rate = 0.001;
  // A variable of the program that holds the learning rate, made by a schedule; instead of the
  // number.
  std::string learning_rate_var = {};

  // Added to gradients after clipping. A parameter's own regularizer stands before it.
  Regularizer regularization = {};
  GradClip clip = {};
  std::vector<std::string> parameters = {};  // empty: all trainable ones
  std::string name = {};                     // part of the accumulators' names

  // What the rule takes: beta1, mu, epsilon, use_nesterov, ... Unknown names are refused.
  Attrs attrs = {};

  // Whether the decay that is part of a rule (adamw, lamb, lars_momentum) applies to a parameter;
  // empty: to all.
  std::function<bool(const Var&)> decays = {};
};

struct MinimizeOptions {
  std::shared_ptr<Program> startup = {};     // initialises accumulators; null: the current one
  std::vector<std::string> parameters = {};  // empty: those of the optimizer
  std::vector<std::string> no_grad_set = {};
};

// What else happens around every backward pass while it is context().stages: the passes of a
// strategy (fleet/pipeline.h).
class BackwardStages {
 public:
  virtual ~BackwardStages() = default;
  // Returns the loss to differentiate: this one, or another that was made of it.
  virtual Var& before_backward(Var& loss) = 0;
  // Updates will be appended for what it leaves in `params_grads`.
  virtual void after_backward(Var& loss, std::vector<ParamGrad>& params_grads) = 0;
};

// The order of what is appended is Paddle's: parameters by name; clipping; decay of all; updates.
//
// L2 decay adds coeff * p to the gradient g of p, L1 decay coeff * sign(p). Momentum takes L2 decay
// as attributes of its op. A sparse gradient becomes a dense one, <g>@NEWGRAD@: all rows of p
// decay, looked up or not.
class Optimizer {
 public:
  // `type`: the name of an update rule.
  Optimizer(std::string type, OptimizerOptions options);

  struct Result {
    std::vector<Op*> ops = {};
    std::vector<ParamGrad> params_grads = {};
  };
  // backward() and apply_gradients() on the program of `loss`.
  Result minimize(Var& loss, const MinimizeOptions& options = {});
  std::vector<ParamGrad> backward(Var& loss, const MinimizeOptions& options = {});
  // On the current main program.
  std::vector<Op*> apply_gradients(std::vector<ParamGrad> params_grads);

  const std::string& type() const { return type_; }
  const OptimizerOptions& options() const { return options_; }
  OptimizerOptions& options() { return options_; }
  // The variable with the learning rate in `program`; made there, and in the current startup
  // program, on first use.
  Var& learning_rate_var(const std::shared_ptr<Program>& program);
  // Their names, by the programs' ids.
  const std::map<uint64_t, std::string>& learning_rates() const { return learning_rates_; }
  // Accumulators by kind ("velocity") and parameter, for state dictionaries.
  const std::map<std::pair<std::string, std::string>, std::string>& accumulators() const {
    return accumulators_;
  }

 private:
  Op& append_update(Block& block, const ParamGrad& param_grad, Var& learning_rate);
  Var& accumulator(const Var& param, const std::string& kind, double value, bool scalar);
  // The optimizer's learning rate times the parameter's own, in the parameter's dtype.
  Var& learning_rate_of(Block& block, const Var& param, Var& learning_rate);

  std::string type_;
  OptimizerOptions options_;
  std::map<uint64_t, std::string> learning_rates_;  // by program
  std::map<std::pair<std::string, std::string>, std::string> accumulators_;
};

inline Regularizer l2_decay(float coeff) { return {Regularizer::kL2, coeff}; }
inline Regularizer l1_decay(float coeff) { return {Regularizer::kL1, coeff}; }

inline Optimizer sgd(double learning_rate, Regularizer regularization = {}) {
  return Optimizer("sgd", {.learning_rate = learning_rate, .regularization = regularization});
}
inline Optimizer momentum(double learning_rate, float mu = 0.9f, Regularizer regularization = {}) {
  return Optimizer(
      "momentum",
      {.learning_rate = learning_rate, .regularization = regularization, .attrs = {{"mu", mu}}});
}
inline Optimizer adam(double learning_rate = 0.001, Regularizer regularization = {}) {
  return Optimizer("adam", {.learning_rate = learning_rate, .regularization = regularization});
}

}  // namespace flotilla::layers
