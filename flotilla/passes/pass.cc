#include "flotilla/passes/pass.h"

#include <algorithm>
#include <chrono>

#include "flotilla/base/env.h"
#include "flotilla/base/log.h"
#include "flotilla/ir/text.h"
#include "flotilla/passes/fuse_bn_act.h"
#include "flotilla/passes/fuse_fc.h"
#include "flotilla/passes/fuse_fc_grad.h"
#include "flotilla/passes/fuse_lookups.h"
#include "flotilla/passes/fuse_optimizer.h"

namespace flotilla::passes {
namespace {

std::vector<std::string> names_of_plan_passes() {
  std::vector<std::string> names = {"all"};
  for (const PassRow& row : plan_passes()) names.emplace_back(row.name);
  return names;
}

bool holds(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// What a variable names. A name that no pass has is a typing error, and would silently change
// nothing.
std::vector<std::string> names_in(const char* variable, const std::vector<std::string>& known) {
  std::vector<std::string> given = env::list(variable);
  for (const std::string& name : given) {
    require(holds(known, name), "{} names the pass \"{}\", which is not there.{} There are: {}",
            variable, name, did_you_mean(name, known), fmt::join(known, ", "));
  }
  return given;
}

std::vector<std::string> dumped_passes() {
  std::vector<std::string> known = names_of_plan_passes();
  known.insert(known.end(), kFleetPasses.begin(), kFleetPasses.end());
  known.emplace_back(kServerPass);
  return names_in("FLT_DUMP", known);
}

int64_t count_ops(const Program& program) {
  return static_cast<int64_t>(program.global_block().size());
}

PassReport run_timed(const PassRow& row, Program& program, PassContext& context) {
  const auto start = std::chrono::steady_clock::now();
  PassReport report{.name = row.name, .ops_before = count_ops(program)};
  row.run(program, context);
  report.ops_after = count_ops(program);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace

const std::vector<PassRow>& plan_passes() {
  // The gradients of fc first: then nothing measures the products any more.
  static const std::vector<PassRow> rows = {
      {"fuse_fc_grad", "gradients of activation, bias and product in one op", fuse_fc_grad},
      {"fuse_fc", "product with a weight, bias and activation in one op", fuse_fc},
      {"fuse_bn_act", "batch norm and relu in one op, forward and backward", fuse_bn_act},
      {"fuse_bn_add_act", "batch norm, residual sum and relu in one op, forward and backward",
       fuse_bn_add_act},
      {"fuse_lookups", "lookups, their reshapes and the concat behind in one op, gradients too",
       fuse_lookups},
      {"fuse_optimizer", "updates all parameters of an optimizer in one op", fuse_optimizer},
  };
  return rows;
}

void dump_after(std::string_view pass, const Program& program) {
  const std::vector<std::string> dumped = dumped_passes();
  if (!holds(dumped, pass) && !holds(dumped, "all")) return;
  log::info("after {}:\n{}", pass, print(program, Detail::kBrief));
}

std::shared_ptr<Program> run_plan_passes(const Program& program,
                                         const std::vector<std::string>& fetches,
                                         std::vector<PassReport>* report) {
  const std::vector<std::string> skipped = names_in("FLT_SKIP_PASSES", names_of_plan_passes());
  const std::vector<std::string> dumped = dumped_passes();
  std::shared_ptr<Program> copy = program.clone();
  PassContext context(fetches);
  for (const PassRow& row : plan_passes()) {
    if (holds(skipped, row.name) || holds(skipped, "all")) continue;
    const PassReport done = run_timed(row, *copy, context);
    if (report != nullptr) report->push_back(done);
    if (holds(dumped, row.name) || holds(dumped, "all")) {
      log::info("after {} ({:.2f} ms, {} ops before, {} now):\n{}", done.name, done.milliseconds,
                done.ops_before, done.ops_after, print(*copy, Detail::kBrief));
    }
  }
  return copy;
}

}  // namespace flotilla::passes
