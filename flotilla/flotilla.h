// flotilla/flotilla.h
//
// The C++ API in one include: build a program with layers, give it an optimizer, run it.
//
//   namespace nn = flotilla::layers;
//   nn::Variable x = nn::data("x", {-1, 13}), y = nn::data("y", {-1, 1});
//   nn::Variable loss = nn::mean(nn::square_error_cost(nn::fc(x, 1), y));
//   nn::sgd(0.01).minimize(loss);
//
//   flotilla::Session session;
//   session.run(nn::default_startup_program());
//   double cost = item(session.run(nn::default_main_program(), {{"x", xs}, {"y", ys}}, {loss})[0]);

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flotilla/autodiff/backward.h"
#include "flotilla/data/chosen.h"
#include "flotilla/data/column.h"
#include "flotilla/data/file_dataset.h"
#include "flotilla/data/loader.h"
#include "flotilla/data/mnist.h"
#include "flotilla/data/shard.h"
#include "flotilla/fleet/role.h"
#include "flotilla/ir/program.h"
#include "flotilla/ir/text.h"
#include "flotilla/job/even_loader.h"
#include "flotilla/job/fleet.h"
#include "flotilla/layers/arithmetic.h"
#include "flotilla/layers/averages.h"
#include "flotilla/layers/by_rule.h"
#include "flotilla/layers/context.h"
#include "flotilla/layers/control_flow.h"
#include "flotilla/layers/conv.h"
#include "flotilla/layers/creation.h"
#include "flotilla/layers/forms.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/indexing.h"
#include "flotilla/layers/linalg.h"
#include "flotilla/layers/losses.h"
#include "flotilla/layers/lr.h"
#include "flotilla/layers/lr_ops.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/norm.h"
#include "flotilla/layers/op.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/layers/recurrent.h"
#include "flotilla/layers/sampled.h"
#include "flotilla/layers/sequence.h"
#include "flotilla/layers/variable.h"
#include "flotilla/passes/strategy.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/runtime/model_io.h"
#include "flotilla/runtime/predictor.h"
#include "flotilla/runtime/scope.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

// The only element of a tensor, as a number.
inline double item(const Tensor& tensor) {
  require(tensor.numel() == 1, "a tensor of one element was expected, but it has shape {}",
          tensor.shape());
  return visit_dtype(tensor.dtype(), [&](auto zero) {
    return static_cast<double>(*tensor.data<decltype(zero)>());
  });
}

// What a session read from the files of an inference model: what it takes and what it gives.
struct InferenceModel {
  std::shared_ptr<Program> program;
  std::vector<std::string> feeds;
  layers::Variables fetches;
};

// An executor with a scope of its own: parameters live in it from run to run.
//
// Thread safety: none; a session belongs to one thread at a time.
class Session {
 public:
  // With a seed, random operators draw the same numbers in every process.
  Session() = default;
  explicit Session(uint64_t seed) : generator_(seed), executor_({.generator = &generator_}) {}
  // Runs programs together with the other workers of a job; `fleet` outlives it.
  Session(uint64_t seed, job::Fleet& fleet)
      : fleet_(&fleet), generator_(seed), executor_(fleet.executor_options(&generator_)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs the program once and returns copies of `fetches`; sparse rows are made dense.
  std::vector<Tensor> run(const Program& program, const std::vector<Feed>& feeds = {},
                          const layers::Variables& fetches = {}) {
    std::vector<Tensor> results;
    std::shared_ptr<const Program> chosen(std::shared_ptr<void>(), &program);
    if (fleet_ != nullptr) chosen = fleet_->before_run(program, scope_);
    for (FetchedValue& value : executor_.run(*chosen, feeds, fetches.names(), scope_)) {
      SelectedRows* rows = std::get_if<SelectedRows>(&value);
      results.push_back(rows != nullptr ? rows->to_dense() : std::get<Tensor>(std::move(value)));
    }
    return results;
  }

  // A variable that a run left, in whatever layout: plain() puts its elements in order. Refuses one
  // that has no value.
  const Tensor& get(const std::string& name) {
    const Tensor* found = scope_.find(name);
    require(found != nullptr && found->defined(), "the session has no value of \"{}\"", name);
    return *found;
  }
  // Gives a variable its value, as the startup program does.
  void set(const std::string& name, Tensor value) { scope_.var(name) = std::move(value); }
  // The learning rate of the runs that follow, where it is a number.
  void set_learning_rate(layers::Optimizer& optimizer, const std::shared_ptr<Program>& program,
                         double rate) {
    const float value = static_cast<float>(rate);
    set(optimizer.learning_rate_var(program).name, Tensor::of<float>({&value, 1}, {1}));
  }

  // What `fetches` need of the program, with its parameters, as <prefix>.pdmodel and
  // <prefix>.pdiparams: for load_inference_model here, in Python and in Paddle.
  void save_inference_model(const std::string& prefix, const Program& program,
                            const layers::Variables& feeds, const layers::Variables& fetches) {
    write_inference_model(prefix, *inference_program(program, feeds.names(), fetches.names()),
                          scope_);
  }
  // The parameters go to this session.
  InferenceModel load_inference_model(const std::string& prefix) {
    InferenceModel model;
    model.program = flotilla::load_inference_model(prefix, scope_);
    model.feeds = feed_names(*model.program);
    for (const std::string& name : fetch_names(*model.program)) {
      model.fetches.push_back(model.program->global_block().var(name));
    }
    return model;
  }

  // All that a program keeps from run to run (parameters and what optimizers know of them), each
  // variable in a file of its name.
  void save_persistables(const std::string& dir, const Program& program) {
    save_vars(dir, persistable_names(program), scope_);
  }
  void load_persistables(const std::string& dir, const Program& program) {
    load_vars(dir, persistable_names(program), scope_, &program.global_block());
  }

  Scope& scope() { return scope_; }
  Executor& executor() { return executor_; }

 private:
  job::Fleet* const fleet_ = nullptr;
  Generator generator_;
  Scope scope_;
  Executor executor_;
};

}  // namespace flotilla
