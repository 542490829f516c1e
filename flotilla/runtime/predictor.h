// flotilla/runtime/predictor.h
//
// A saved model that predicts:
//
//   Predictor predictor(Model::read("mnist.pdmodel", "mnist.pdiparams"));
//   predictor.set_input("image", images);
//   predictor.run();
//   const Tensor& scores = predictor.output(predictor.output_names()[0]);
//
// Thread safety: a model may be used by several threads at the same time, a predictor by one. Each
// thread takes a predictor of its own (clone()); all predictors of a model share its weights.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/kernel/random.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/runtime/gate.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {

// An inference program, as inference_program() makes it, and its parameters.
class Model {
 public:
  // `params`: the file with all parameters; "": each is a file of its name beside the program.
  static std::shared_ptr<Model> read(const std::string& program, const std::string& params);
  // Of the bytes of such files.
  static std::shared_ptr<Model> parse(std::string_view program, std::string_view params);

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Program& program() const { return *program_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  friend class Predictor;
  explicit Model(std::shared_ptr<const Program> program);

  const std::shared_ptr<const Program> program_;
  const std::vector<std::string> inputs_;
  const std::vector<std::string> outputs_;
  Scope weights_;
  std::vector<std::string> written_;  // weights that a run changes: each predictor has its own
  Gate gate_;
};

class Predictor {
 public:
  // `threads`: how many a run may use; 0: as many as the process (FLT_THREADS).
  explicit Predictor(std::shared_ptr<Model> model, int threads = 0);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  // Another predictor of the model, with inputs and outputs of its own, for another thread.
  std::unique_ptr<Predictor> clone() const;

  const std::vector<std::string>& input_names() const { return model_->inputs(); }
  const std::vector<std::string>& output_names() const { return model_->outputs(); }

  // What the next runs read; undefined at first.
  const Tensor& input(std::string_view name) const { return feeds_[index_of_input(name)].tensor; }
  DType input_dtype(std::string_view name) const;  // as the model declares it
  // The memory is read in place.
  void set_input(std::string_view name, Tensor value);
  // The last run's; undefined before it.
  const Tensor& output(std::string_view name) const;

  // The first run of inputs of new shapes makes a plan, later ones look it up.
  void run();

  int64_t plans_made() const { return executor_->plans_made(); }
  // Gives back the memory of plans and outputs.
  void shrink();

 private:
  size_t index_of_input(std::string_view name) const;

  const std::shared_ptr<Model> model_;
  const int threads_;
  Generator generator_;
  Scope scope_;
  std::unique_ptr<Executor> executor_;
  std::vector<Feed> feeds_;
  std::vector<Tensor> outputs_;
};

}  // namespace flotilla
