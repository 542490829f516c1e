// flotilla/passes/pass.h
//
// A pass rewrites a program into one that means the same. It decides first and rewrites then; it is
// named, timed, and can be switched off.

#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

// What a pass may know beside the program.
class PassContext {
 public:
  PassContext() = default;
  explicit PassContext(const std::vector<std::string>& fetches)
      : fetches_(fetches.begin(), fetches.end()) {}

  // The variable is wanted by the caller after the run.
  bool is_fetched(std::string_view var) const { return fetches_.contains(var); }

 private:
  std::set<std::string, std::less<>> fetches_;
};

using Pass = void (*)(Program&, PassContext&);

struct PassRow {
  std::string_view name = {};
  std::string_view doc = {};  // one sentence
  Pass run = nullptr;
};

// What one pass did.
struct PassReport {
  std::string_view name = {};
  double milliseconds = 0;
  int64_t ops_before = 0;
  int64_t ops_after = 0;
};

// The passes that run before a plan is made, in order of execution.
const std::vector<PassRow>& plan_passes();

// The passes of distributed training, in order of execution (fleet/pipeline.cc). A strategy
// switches them; FLT_DUMP may name them.
inline constexpr std::array<std::string_view, 8> kFleetPasses = {"lars",
                                                                 "lamb",
                                                                 "sync_batch_norm",
                                                                 "gradient_merge",
                                                                 "insert_all_reduce",
                                                                 "fuse_all_reduce",
                                                                 "local_sgd",
                                                                 "broadcast_parameters"};

// The same with parameter servers (fleet/servers.cc).
inline constexpr std::string_view kServerPass = "ps_split";

// Prints the program where FLT_DUMP names the pass that just ran, or `all`.
void dump_after(std::string_view pass, const Program& program);

// A copy of `program` after the passes of plan_passes(). FLT_SKIP_PASSES=<name>,<name> leaves some
// out, and `all` leaves out all; FLT_DUMP=<name> prints the program after one. Where `report` is
// given it gets a row for each pass that ran.
std::shared_ptr<Program> run_plan_passes(const Program& program,
                                         const std::vector<std::string>& fetches,
                                         std::vector<PassReport>* report = nullptr);

}  // namespace flotilla::passes
