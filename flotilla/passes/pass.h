// flotilla/passes/pass.h
//
// A pass rewrites a program: into one that means the same, or into that of one process of many. It
// decides first and rewrites then. One table (pass.cc) has all of them: name, stage, what switches
// it on. Each is timed, can be printed and left out, and the program is verified after it.
//
//   FLT_DUMP=<name>,<name>         prints the program after these passes, or after `all`
//   FLT_SKIP_PASSES=<name>,<name>  leaves them out; `all`: those of plans, which change no result

#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/autodiff/backward.h"
#include "flotilla/base/device.h"
#include "flotilla/ir/program.h"
#include "flotilla/passes/ps_split.h"
#include "flotilla/passes/strategy.h"

namespace flotilla::passes {

// When a pass runs. A program that comes with its updates, as transpilers of 1.x take it, gets
// those of the last two stages alone.
enum class PassStage {
  kBeforeBackward,  // on the forward ops: what is inserted gets gradients like the user's own
  kAfterBackward,   // gradients are there, updates will be appended for them
  kAfterUpdate,     // on the whole training program
  kPlan,            // on a copy, whenever a plan is made
};

// The workers of a collective job, and which of them this is.
struct Ranks {
  int64_t rank = 0;
  int64_t count = 1;
  // Of all ranks, in their order; empty where nobody knows them.
  std::vector<std::string> endpoints = {};
};

// What passes work on and may know.
struct PassContext {
  Program& main;
  Program* startup = nullptr;  // null where a plan is made
  DistributedStrategy strategy = {};
  Ranks ranks = {};
  std::optional<PsOptions> servers = {};  // of a job with parameter servers
  std::set<std::string, std::less<>> fetches = {};
  Device device = kCpu;  // where a plan will run

  // Around the backward pass. One before it may put another loss here, one after it may put other
  // gradients: updates take those.
  Var* loss = nullptr;
  std::vector<ParamGrad>* params_grads = nullptr;

  // What passes leave for whoever runs them.
  std::vector<std::string> notices = {};  // what was asked for and is not done, a sentence each
  std::string fusion = {};                // what Paddle says of fused exchanges
  std::vector<ServerTable> tables = {};   // what parameter servers must have

  const strategy::DistributedStrategy& settings() const { return strategy.message(); }
  // The variable is wanted by the caller after the run.
  bool is_fetched(std::string_view var) const { return fetches.contains(var); }
  void say(std::vector<std::string> sentences);
};

using Pass = void (*)(PassContext&);

struct PassRow {
  std::string_view name = {};
  PassStage stage = PassStage::kPlan;
  std::string_view option = {};  // the flag of the strategy that switches it on; "": none
  bool (*when)(const PassContext&) = nullptr;  // what else must hold; null: nothing
  Pass run = nullptr;
  std::string_view doc = {};  // one sentence
  bool needed = false;        // `all` does not leave it out

  // Of a pass that is a strategy, or a part of one; what does not apply is left out.
  // Refuses settings that cannot be meant, whether it is on or not.
  void (*check)(const DistributedStrategy&) = nullptr;
  // Whether a strategy of 1.8 switches it on.
  bool (*wanted_by)(const FluidStrategy&) = nullptr;
  // How ranks merge what they learn: "gradients are averaged over workers".
  std::string (*merging)(const PassContext&) = nullptr;
  // What a job with parameter servers does instead.
  std::string_view with_servers = {};
};

// In the order in which they run.
const std::vector<PassRow>& all_passes();

// What one pass did.
struct PassReport {
  std::string_view name = {};
  double milliseconds = 0;
  int64_t ops_before = 0;
  int64_t ops_after = 0;
};

// Runs the passes of a stage that are wanted. One that leaves an illegal program behind is named.
std::vector<PassReport> run_passes(PassStage stage, PassContext& context,
                                   std::span<const PassRow> rows = all_passes());

// A copy of `program` after the passes of plans. Where `report` is given it gets a row for each
// pass that ran.
std::shared_ptr<Program> run_plan_passes(const Program& program,
                                         const std::vector<std::string>& fetches,
                                         std::vector<PassReport>* report = nullptr,
                                         Device device = kCpu);

}  // namespace flotilla::passes
