// flotilla/layers/context.h
//
// Where layers append: the current main and startup program, and the counters of unique names. This
// is the one place where Paddle's default programs live; guards switch it for a while.
//
// Thread safety: none; programs are built by one thread at a time.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flotilla/ir/program.h"
#include "flotilla/ir/unique_name.h"
#include "flotilla/layers/initializer.h"

namespace flotilla::layers {

class BackwardStages;

struct Context {
  std::shared_ptr<Program> main = std::make_shared<Program>();
  std::shared_ptr<Program> startup = std::make_shared<Program>();
  UniqueNames names = {};
  // How parameters start that say nothing themselves, instead of what their layer chooses.
  std::optional<Initializer> weight_initializer = {};
  std::optional<Initializer> bias_initializer = {};
  // The element type of what states none.
  DType default_dtype = f32;
  // Ops are written as 1.8 knows them: in functions of fluid that are made of those of 2.x.
  bool writes_v1 = false;
  // What takes part in backward passes (optimizer.h); null: nobody.
  BackwardStages* stages = nullptr;
};

// The process' context.
Context& context();

inline Program& default_main_program() { return *context().main; }
inline Program& default_startup_program() { return *context().startup; }

// Layers append to these programs while it lives.
class ProgramGuard {
 public:
  explicit ProgramGuard(std::shared_ptr<Program> main, std::shared_ptr<Program> startup = nullptr);
  ~ProgramGuard();
  ProgramGuard(const ProgramGuard&) = delete;
  ProgramGuard& operator=(const ProgramGuard&) = delete;

 private:
  std::shared_ptr<Program> main_;
  std::shared_ptr<Program> startup_;
};

// Counters start anew while it lives: two nets built under two guards share parameter names.
class NameGuard {
 public:
  NameGuard();
  ~NameGuard();
  NameGuard(const NameGuard&) = delete;
  NameGuard& operator=(const NameGuard&) = delete;

 private:
  UniqueNames saved_;
};

}  // namespace flotilla::layers
