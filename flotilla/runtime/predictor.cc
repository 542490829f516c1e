#include "flotilla/runtime/predictor.h"

#include <algorithm>
#include <optional>
#include <set>
#include <shared_mutex>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla {
namespace {

size_t index_of(std::string_view what, const std::vector<std::string>& names,
                std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "the model has no {} \"{}\"; its {}s are: {}", what, name, what,
          fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
}

// Parameters and the like that ops of the program write.
std::vector<std::string> written_weights(const Program& program) {
  std::set<std::string> found;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const auto& [slot, names] : op->outputs()) {
        for (const std::string& name : names) {
          const Var* var = block->find_var_recursive(name);
          const bool weight = var != nullptr && var->persistable && var->kind == VarKind::kTensor;
          if (weight) found.insert(name);
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

Model::Model(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      inputs_(feed_names(*program_)),
      outputs_(fetch_names(*program_)),
      written_(written_weights(*program_)) {
  require(!outputs_.empty(),
          "the program fetches nothing, so it predicts nothing: save it with "
          "save_inference_model()");
}

std::shared_ptr<Model> Model::read(const std::string& program, const std::string& params) {
  const auto [folder, name] = split(program);
  const auto [params_folder, params_name] = split(params.empty() ? program : params);
  SavedFiles files(folder);
  std::shared_ptr<Model> model(new Model(read_program(files, name)));
  const std::vector<std::string> names = persistable_names(model->program());
  const Block* expected = &model->program().global_block();
  if (params.empty()) {
    load_vars(files, names, model->weights_, expected);
  } else if (params_folder == folder) {
    load_combined(files, params_name, names, model->weights_, expected);
  } else {
    load_combined(params, names, model->weights_, expected);
  }
  return model;
}

std::shared_ptr<Model> Model::parse(std::string_view program, std::string_view params) {
  std::shared_ptr<Model> model(new Model(deserialize_program(program)));
  deserialize_vars(params, "the buffer of parameters", persistable_names(model->program()),
                   model->weights_, &model->program().global_block());
  return model;
}

Predictor::Predictor(std::shared_ptr<Model> model, int threads)
    : model_(std::move(model)), threads_(threads), scope_(&model_->weights_) {
  require(threads >= 0, "the number of threads must not be negative, but is {}", threads);
  shrink();
  for (const std::string& name : model_->inputs()) feeds_.push_back({.name = name});
  const std::shared_lock beside(model_->gate_);
  for (const std::string& name : model_->written_) {
    if (const Tensor* shared = model_->weights_.find(name)) scope_.var(name) = shared->clone();
  }
}

std::unique_ptr<Predictor> Predictor::clone() const {
  return std::make_unique<Predictor>(model_, threads_);
}

size_t Predictor::index_of_input(std::string_view name) const {
  return index_of("input", model_->inputs(), name);
}

DType Predictor::input_dtype(std::string_view name) const {
  const std::string& known = model_->inputs()[index_of_input(name)];
  return model_->program().global_block().var(known).dtype;
}

void Predictor::set_input(std::string_view name, Tensor value) {
  feeds_[index_of_input(name)].tensor = std::move(value);
}

const Tensor& Predictor::output(std::string_view name) const {
  return outputs_[index_of("output", model_->outputs(), name)];
}

void Predictor::run() {
  for (const Feed& feed : feeds_) {
    require(feed.tensor.defined(), "the input \"{}\" has no value: set it before run()", feed.name);
  }
  std::optional<ThreadShare> share;
  if (threads_ > 0) share.emplace(threads_);
  std::vector<FetchedValue> values = run_beside_others(model_->gate_, *executor_, model_->program(),
                                                       feeds_, model_->outputs(), scope_);
  for (size_t i = 0; i < values.size(); ++i) {
    SelectedRows* rows = std::get_if<SelectedRows>(&values[i]);
    outputs_[i] = rows != nullptr ? rows->to_dense() : std::get<Tensor>(std::move(values[i]));
  }
}

void Predictor::shrink() {
  executor_ = std::make_unique<Executor>(Executor::Options{.generator = &generator_});
  outputs_.assign(model_->outputs().size(), {});
}

}  // namespace flotilla
