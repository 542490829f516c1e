#include "flotilla/passes/pass.h"

#include <algorithm>
#include <chrono>

#include "flotilla/base/env.h"
#include "flotilla/base/log.h"
#include "flotilla/ir/text.h"
#include "flotilla/ir/verify.h"
#include "flotilla/passes/broadcast_parameters.h"
#include "flotilla/passes/fuse_all_reduce.h"
#include "flotilla/passes/fuse_bn_act.h"
#include "flotilla/passes/fuse_fc.h"
#include "flotilla/passes/fuse_fc_grad.h"
#include "flotilla/passes/fuse_lookups.h"
#include "flotilla/passes/fuse_optimizer.h"
#include "flotilla/passes/gradient_merge.h"
#include "flotilla/passes/insert_all_reduce.h"
#include "flotilla/passes/layerwise_rates.h"
#include "flotilla/passes/local_sgd.h"
#include "flotilla/passes/lower.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/sync_batch_norm.h"

namespace flotilla::passes {
namespace {

bool without_servers(const PassContext& c) { return !c.servers.has_value(); }
bool among_ranks(const PassContext& c) { return c.ranks.count > 1; }
bool exchanges_gradients(const PassContext& c) {
  return among_ranks(c) && !c.settings().localsgd();
}
bool merges_steps(const PassContext& c) {
  return without_servers(c) && c.settings().gradient_merge_configs().k_steps() > 1;
}
bool with_servers(const PassContext& c) { return c.servers.has_value(); }

bool holds(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// What a variable names. A name that no pass has is a typing error, and would silently change
// nothing.
std::vector<std::string> names_in(const char* variable, std::span<const PassRow> rows) {
  std::vector<std::string> known = {"all"};
  for (const std::span<const PassRow> table : {std::span(all_passes()), rows}) {
    for (const PassRow& row : table) {
      if (!holds(known, row.name)) known.emplace_back(row.name);
    }
  }
  std::vector<std::string> given = env::list(variable);
  for (const std::string& name : given) {
    require(holds(known, name), "{} names the unknown pass \"{}\".{} The passes are: {}", variable,
            name, did_you_mean(name, known), fmt::join(known, ", "));
  }
  return given;
}

bool is_wanted(const PassRow& row, const PassContext& context) {
  return (row.option.empty() || context.strategy.get(row.option) == Setting(true)) &&
         (row.when == nullptr || row.when(context));
}

int64_t count_ops(const Program& program) {
  return static_cast<int64_t>(program.global_block().size());
}

// How often the programs have changed.
struct Versions {
  explicit Versions(const PassContext& context)
      : main(context.main.version()), startup(context.startup ? context.startup->version() : 0) {}
  bool operator==(const Versions&) const = default;

  uint64_t main;
  uint64_t startup;
};

PassReport run_timed(const PassRow& row, PassContext& context) {
  const auto start = std::chrono::steady_clock::now();
  PassReport report{.name = row.name, .ops_before = count_ops(context.main)};
  row.run(context);
  report.ops_after = count_ops(context.main);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void verify_programs(const PassContext& context) {
  verify(context.main, Stage::kParallel);
  if (context.startup != nullptr) verify(*context.startup, Stage::kParallel);
}

void verify_after(const PassRow& row, const PassContext& context) {
  try {
    verify_programs(context);
  } catch (Error& error) {
    error.note("pass", row.name);
    throw;
  }
}

// Users may run programs that verify() refuses: those that read what lies in a scope. Such a plan
// is made all the same; what passes are to leave legal was legal before.
bool is_checked(PassStage stage, const PassContext& context) {
  try {
    verify_programs(context);
    return true;
  } catch (const Error&) {
    if (stage != PassStage::kPlan) throw;
    return false;
  }
}

}  // namespace

void PassContext::say(std::vector<std::string> sentences) {
  for (std::string& sentence : sentences) notices.push_back(std::move(sentence));
}

const std::vector<PassRow>& all_passes() {
  using enum PassStage;
  // Of the plan's, `lower` comes first: what it leaves can be fused. Then the gradients of fc:
  // after them nothing measures the products any more.
  static const std::vector<PassRow> rows = {
      {.name = "lars",
       .stage = kAfterUpdate,
       .option = "lars",
       .when = without_servers,
       .run = lars,
       .doc = "Momentum becomes LARS: a learning rate for each parameter",
       .check = check_layerwise_rates,
       .with_servers = "servers apply the optimizer's own rule"},
      {.name = "lamb",
       .stage = kAfterUpdate,
       .option = "lamb",
       .when = without_servers,
       .run = lamb,
       .doc = "Adam becomes LAMB: a learning rate for each parameter",
       .with_servers = "servers apply the optimizer's own rule"},
      {.name = "sync_batch_norm",
       .stage = kAfterUpdate,
       .option = "sync_batch_norm",
       .when = among_ranks,
       .run = sync_batch_norm,
       .doc = "batch norm takes its statistics from the batches of all ranks",
       .check = check_sync_batch_norm,
       .with_servers = "every worker has statistics of its own"},
      {.name = "gradient_merge",
       .stage = kAfterUpdate,
       .option = "gradient_merge",
       .when = merges_steps,
       .run = gradient_merge,
       .doc = "gradients add up, and every k-th step updates",
       .check = check_gradient_merge,
       .merging = merging_by_gradient_merge,
       .with_servers = "every step is pushed"},
      {.name = "insert_all_reduce",
       .stage = kAfterUpdate,
       .when = exchanges_gradients,
       .run = insert_all_reduce,
       .doc = "ranks exchange each gradient where it is ready",
       .check = check_all_reduce,
       .merging = merging_by_all_reduce},
      {"fuse_all_reduce", kAfterUpdate, "fuse_all_reduce_ops", exchanges_gradients, fuse_all_reduce,
       "gradients are exchanged in a few buckets"},
      {.name = "local_sgd",
       .stage = kAfterUpdate,
       .option = "localsgd",
       .when = among_ranks,
       .run = local_sgd,
       .doc = "ranks average their parameters every k steps, instead of gradients",
       .check = check_local_sgd,
       .wanted_by = wants_local_sgd,
       .merging = merging_by_local_sgd,
       .with_servers = "a_sync_configs[\"k_steps\"] is what lets workers train alone"},
      {"broadcast_parameters", kAfterUpdate, "", among_ranks, broadcast_parameters,
       "all ranks start from what rank 0 drew"},
      {"ps_split", kAfterUpdate, "", with_servers, ps_split,
       "parameters live on servers, and the worker pulls and pushes"},
      {"lower", kPlan, "", nullptr, lower, "ops without a kernel are replaced by ops that have one",
       true},
      {"fuse_fc_grad", kPlan, "", nullptr, fuse_fc_grad,
       "gradients of activation, bias and product in one op"},
      {"fuse_fc", kPlan, "", nullptr, fuse_fc,
       "product with a weight, bias and activation in one op"},
      {"fuse_bn_act", kPlan, "", nullptr, fuse_bn_act,
       "batch norm and relu in one op, forward and backward"},
      {"fuse_bn_add_act", kPlan, "", nullptr, fuse_bn_add_act,
       "batch norm, residual sum and relu in one op, forward and backward"},
      {"fuse_lookups", kPlan, "", nullptr, fuse_lookups,
       "lookups, their reshapes and the concat after them in one op, gradients too"},
      {"fuse_optimizer", kPlan, "", nullptr, fuse_optimizer,
       "updates all parameters of an optimizer in one op"},
  };
  return rows;
}

std::vector<PassReport> run_passes(PassStage stage, PassContext& context,
                                   std::span<const PassRow> rows) {
  const std::vector<std::string> skipped = names_in("FLT_SKIP_PASSES", rows);
  const std::vector<std::string> dumped = names_in("FLT_DUMP", rows);
  const bool skips_all = stage == PassStage::kPlan && holds(skipped, "all");
  std::vector<PassReport> done;
  bool checked = false;
  for (const PassRow& row : rows) {
    if (row.stage != stage || (skips_all && !row.needed) || !is_wanted(row, context)) continue;
    if (holds(skipped, row.name)) {
      // What it leaves out of plans changes no result.
      if (stage != PassStage::kPlan) {
        context.say({fmt::format("FLT_SKIP_PASSES leaves out {}: {}.", row.name, row.doc)});
      }
      continue;
    }
    if (done.empty()) checked = is_checked(stage, context);
    const Versions before(context);
    done.push_back(run_timed(row, context));
    const Versions after(context);
    if (checked && before != after) verify_after(row, context);
    if (!holds(dumped, row.name) && !holds(dumped, "all")) continue;
    const bool startup_alone = before.main == after.main && before.startup != after.startup;
    log::info("after {} ({:.2f} ms, {} ops before, {} now):\n{}", row.name,
              done.back().milliseconds, done.back().ops_before, done.back().ops_after,
              print(startup_alone ? *context.startup : context.main, Detail::kBrief));
  }
  return done;
}

std::shared_ptr<Program> run_plan_passes(const Program& program,
                                         const std::vector<std::string>& fetches,
                                         std::vector<PassReport>* report, Device device) {
  std::shared_ptr<Program> copy = program.clone();
  PassContext context = {
      .main = *copy, .fetches = {fetches.begin(), fetches.end()}, .device = device};
  std::vector<PassReport> done = run_passes(PassStage::kPlan, context);
  if (report != nullptr) *report = std::move(done);
  return copy;
}

}  // namespace flotilla::passes
