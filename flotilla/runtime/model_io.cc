#include "flotilla/runtime/model_io.h"

#include <algorithm>
#include <filesystem>

#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/ir/proto.h"
#include "flotilla/op/export_to_paddle.h"
#include "flotilla/op/import_from_paddle.h"
#include "flotilla/tensor/stream.h"

namespace flotilla {
namespace {

const Tensor& initialised(Scope& scope, const std::string& name) {
  const Tensor* tensor = scope.find(name);
  require(tensor != nullptr && tensor->defined(),
          "variable \"{}\" cannot be saved: it has no value. Run the startup program first", name);
  return *tensor;
}

void check_expected(const Tensor& tensor, const std::string& name, const Block* expected,
                    const std::string& what) {
  const Var* var = expected == nullptr ? nullptr : expected->find_var(name);
  if (var == nullptr || !var->shape.known()) return;
  require(tensor.shape() == var->shape && tensor.dtype() == var->dtype,
          "{} holds \"{}\" as {}{}, but the program declares {}{}", what, name, tensor.dtype(),
          tensor.shape(), var->dtype, var->shape);
}

// A variable that has a layout keeps it.
void store(Scope& scope, const std::string& name, Tensor tensor) {
  Tensor& target = scope.find(name) != nullptr ? *scope.find(name) : scope.var(name);
  if (target.defined() && target.shape() == tensor.shape() && target.dtype() == tensor.dtype()) {
    target.copy_from(tensor);
    target.set_lod(tensor.lod());
  } else {
    target = std::move(tensor);
  }
}

void check_prefix(const std::string& prefix) {
  require(std::filesystem::path(prefix).has_filename() && !std::filesystem::is_directory(prefix),
          "expected the prefix of a model's files, but \"{}\" is {}", prefix,
          prefix.empty() ? "empty" : "a folder");
}

std::vector<std::string> columns(const Program& program, std::string_view type, bool outputs) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const auto& op : program.global_block().ops()) {
    if (op->type() != type) continue;
    found.emplace_back(op->attr_or<int64_t>("col", static_cast<int64_t>(found.size())),
                       outputs ? op->output("Out") : op->input("X"));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [col, name] : found) names.push_back(std::move(name));
  return names;
}

template <typename Keep>
std::vector<std::string> names_where(const Program& program, Keep keep) {
  std::vector<std::string> names;
  for (int32_t b = 0; b < program.num_blocks(); ++b) {
    for (const auto& var : program.block(b).vars()) {
      const bool holds_values =
          var->kind == VarKind::kTensor || var->kind == VarKind::kSelectedRows;
      if (holds_values && keep(*var)) names.push_back(var->name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

void write_file(const std::string& file, std::string_view bytes) { save_file(file, bytes); }

std::string read_file(const std::string& file) {
  const std::string_view kind = other_than_a_file(file);
  require(kind.empty(), "{} is {}, not a file", file, kind);
  const auto [folder, name] = split(file);
  return SavedFiles(folder).read(name);
}

void add_vars(SaveSet& save, const std::vector<std::string>& names, Scope& scope) {
  for (const std::string& name : names) {
    check_file_name(name);
    initialised(scope, name);
  }
  for (const std::string& name : names) save.add(name, serialize(initialised(scope, name)));
}

void save_vars(const std::string& dir, const std::vector<std::string>& names, Scope& scope) {
  SaveSet save(dir);
  add_vars(save, names, scope);
  save.commit();
}

std::string serialize_vars(const std::vector<std::string>& names, Scope& scope) {
  std::string bytes;
  for (const std::string& name : names) bytes += serialize(initialised(scope, name));
  return bytes;
}

void add_combined(SaveSet& save, const std::string& file, const std::vector<std::string>& names,
                  Scope& scope) {
  save.add(file, serialize_vars(names, scope));
}

void save_combined(const std::string& file, const std::vector<std::string>& names, Scope& scope) {
  const auto [folder, name] = split(file);
  SaveSet save(folder);
  add_combined(save, name, names, scope);
  save.commit();
}

void load_vars(SavedFiles& files, const std::vector<std::string>& names, Scope& scope,
               const Block* expected) {
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    const std::string file = (files.folder() / name).string();
    const std::string bytes = files.read(name);
    TensorReader reader(bytes, file);
    tensors.push_back(reader.next());
    require(reader.at_end(), "{}: {} bytes follow the tensor", file,
            bytes.size() - reader.position());
    check_expected(tensors.back(), name, expected, file);
  }
  files.notice_times();
  for (size_t i = 0; i < names.size(); ++i) store(scope, names[i], std::move(tensors[i]));
}

void load_vars(const std::string& dir, const std::vector<std::string>& names, Scope& scope,
               const Block* expected) {
  SavedFiles files(dir);
  load_vars(files, names, scope, expected);
}

void deserialize_vars(std::string_view bytes, const std::string& what,
                      const std::vector<std::string>& names, Scope& scope, const Block* expected) {
  TensorReader reader(bytes, what);
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    require(!reader.at_end(), "{} holds {} tensors, but {} are expected: \"{}\" is missing", what,
            tensors.size(), names.size(), name);
    tensors.push_back(reader.next());
    check_expected(tensors.back(), name, expected, what);
  }
  require(reader.at_end(), "{} holds more than the {} tensors that are expected", what,
          names.size());
  for (size_t i = 0; i < names.size(); ++i) store(scope, names[i], std::move(tensors[i]));
}

void load_combined(SavedFiles& files, const std::string& file,
                   const std::vector<std::string>& names, Scope& scope, const Block* expected) {
  // Paddle writes no file where there is nothing to write.
  if (names.empty() && !files.contains(file)) return;
  const std::string bytes = files.read(file);
  files.notice_times();
  deserialize_vars(bytes, (files.folder() / file).string(), names, scope, expected);
}

void load_combined(const std::string& file, const std::vector<std::string>& names, Scope& scope,
                   const Block* expected) {
  const auto [folder, name] = split(file);
  SavedFiles files(folder);
  load_combined(files, name, names, scope, expected);
}

std::vector<std::string> persistable_names(const Program& program) {
  return names_where(program, [](const Var& var) { return var.persistable; });
}

std::vector<std::string> parameter_names(const Program& program) {
  return names_where(program, [](const Var& var) { return var.is_parameter(); });
}

std::shared_ptr<Program> inference_program(const Program& program,
                                           const std::vector<std::string>& feeds,
                                           const std::vector<std::string>& targets,
                                           bool source_lines) {
  for (const std::string& name : feeds) program.global_block().var(name);
  for (const std::string& name : targets) program.global_block().var(name);
  const std::shared_ptr<Program> pruned = program.clone(true)->prune(feeds, targets);
  for (const auto& each : pruned->blocks()) {
    for (const auto& op : each->ops()) {
      if (!source_lines && op->attrs().contains("op_callstack")) op->remove_attr("op_callstack");
    }
  }
  Block& block = pruned->global_block();
  block.add_var({.name = "feed", .kind = VarKind::kFeed, .persistable = true});
  block.add_var({.name = "fetch", .kind = VarKind::kFetch, .persistable = true});
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (block.find_var(feeds[i]) == nullptr) {
      Var unused = program.global_block().var(feeds[i]);
      block.add_var(std::move(unused));
    }
    block.insert(i, Op("feed", {{"X", {"feed"}}}, {{"Out", {feeds[i]}}},
                       {{"col", static_cast<int32_t>(i)}}));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    block.push_back(Op("fetch", {{"X", {targets[i]}}}, {{"Out", {"fetch"}}},
                       {{"col", static_cast<int32_t>(i)}}));
  }
  return pruned;
}

std::vector<std::string> feed_names(const Program& program) {
  return columns(program, "feed", true);
}

std::vector<std::string> fetch_names(const Program& program) {
  return columns(program, "fetch", false);
}

std::string serialize_program(const Program& program) {
  return serialize(*export_to_paddle(program));
}

std::shared_ptr<Program> deserialize_program(std::string_view bytes) {
  return import_from_paddle(deserialize(bytes));
}

std::shared_ptr<Program> read_program(SavedFiles& files, const std::string& file) {
  const std::string bytes = files.read(file);
  try {
    return deserialize_program(bytes);
  } catch (Error& error) {
    error.note("file", (files.folder() / file).string());
    throw;
  }
}

std::shared_ptr<Program> read_program(const std::string& file) {
  const auto [folder, name] = split(file);
  SavedFiles files(folder);
  return read_program(files, name);
}

void write_inference_model(const std::string& prefix, const Program& model, Scope& scope) {
  check_prefix(prefix);
  const auto [folder, name] = split(prefix);
  const std::vector<std::string> names = persistable_names(model);
  SaveSet save(folder);
  if (!names.empty()) add_combined(save, name + ".pdiparams", names, scope);
  save.add(name + ".pdmodel", serialize_program(model));
  save.commit();
}

std::shared_ptr<Program> load_inference_model(const std::string& prefix, Scope& scope) {
  check_prefix(prefix);
  const auto [folder, name] = split(prefix);
  SavedFiles files(folder);
  std::shared_ptr<Program> model = read_program(files, name + ".pdmodel");
  load_combined(files, name + ".pdiparams", persistable_names(*model), scope,
                &model->global_block());
  return model;
}

}  // namespace flotilla
