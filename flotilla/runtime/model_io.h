// flotilla/runtime/model_io.h
//
// Programs and parameters in Paddle's files: a variable per file, all in one file, and inference
// models (__model__, or .pdmodel with .pdiparams). The files of a save replace those before them
// all at once (base/save_set.h), and are compared with its manifest when they are read.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/save_set.h"
#include "flotilla/base/saved_files.h"
#include "flotilla/ir/program.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {

// Each variable goes to a file of its name. Refuses one that has no value.
void add_vars(SaveSet& save, const std::vector<std::string>& names, Scope& scope);
// All variables go to one file, in the order given.
void add_combined(SaveSet& save, const std::string& file, const std::vector<std::string>& names,
                  Scope& scope);
std::string serialize_vars(const std::vector<std::string>& names, Scope& scope);

// The same as a save of their own: into a folder, to a file.
void save_vars(const std::string& dir, const std::vector<std::string>& names, Scope& scope);
void save_combined(const std::string& file, const std::vector<std::string>& names, Scope& scope);

// `expected`: shape and dtype are compared with these variables, where the block has them. A
// variable that exists keeps its memory layout. Nothing is changed where anything is refused.
void load_vars(SavedFiles& files, const std::vector<std::string>& names, Scope& scope,
               const Block* expected = nullptr);
void load_combined(SavedFiles& files, const std::string& file,
                   const std::vector<std::string>& names, Scope& scope,
                   const Block* expected = nullptr);
void load_vars(const std::string& dir, const std::vector<std::string>& names, Scope& scope,
               const Block* expected = nullptr);
void load_combined(const std::string& file, const std::vector<std::string>& names, Scope& scope,
                   const Block* expected = nullptr);
void deserialize_vars(std::string_view bytes, const std::string& what,
                      const std::vector<std::string>& names, Scope& scope,
                      const Block* expected = nullptr);

// Names of the persistable variables, sorted: the order of a combined file.
std::vector<std::string> persistable_names(const Program& program);
std::vector<std::string> parameter_names(const Program& program);

// What `targets` need of the program, for inference, with feed and fetch ops around it. The lines
// of the user's source that made the ops, with their paths, go along only if asked for.
std::shared_ptr<Program> inference_program(const Program& program,
                                           const std::vector<std::string>& feeds,
                                           const std::vector<std::string>& targets,
                                           bool source_lines = false);
// The variables that a program's feed ops write and its fetch ops read, in order of column.
std::vector<std::string> feed_names(const Program& program);
std::vector<std::string> fetch_names(const Program& program);

// A program in Paddle's wire format. Ops of a program that Paddle wrote mean here what they meant
// there, and Paddle finds in a program written here all that it asks for (op/import_from_paddle.h,
// op/export_to_paddle.h).
std::string serialize_program(const Program& program);
std::shared_ptr<Program> deserialize_program(std::string_view bytes);
std::shared_ptr<Program> read_program(const std::string& file);
std::shared_ptr<Program> read_program(SavedFiles& files, const std::string& file);

// An inference_program() goes to <prefix>.pdmodel, its parameters to <prefix>.pdiparams.
void write_inference_model(const std::string& prefix, const Program& model, Scope& scope);
// The program; its parameters go to the scope. Nothing is changed where anything is refused.
std::shared_ptr<Program> load_inference_model(const std::string& prefix, Scope& scope);

void write_file(const std::string& file, std::string_view bytes);
std::string read_file(const std::string& file);

}  // namespace flotilla
