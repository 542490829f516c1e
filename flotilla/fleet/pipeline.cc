#include "flotilla/fleet/pipeline.h"

#include "flotilla/base/error.h"
#include "flotilla/ir/verify.h"
#include "flotilla/passes/broadcast_parameters.h"
#include "flotilla/passes/fuse_all_reduce.h"
#include "flotilla/passes/gradient_merge.h"
#include "flotilla/passes/insert_all_reduce.h"
#include "flotilla/passes/layerwise_rates.h"
#include "flotilla/passes/local_sgd.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_support.h"
#include "flotilla/passes/sync_batch_norm.h"

namespace flotilla::fleet {
namespace {

// What strategies of all eras say, in one form.
struct Settings {
  bool lars = false;
  bool lamb = false;
  bool gradient_merge = false;
  bool local_sgd = false;
  bool sync_batch_norm = false;
  bool fuse_all_reduce = true;
  passes::LarsOptions lars_options = {};
  passes::LambOptions lamb_options = {};
  passes::MergeOptions merge = {};
  passes::LocalSgdOptions local = {};
  passes::ExchangeOptions exchange = {};
  passes::BucketSizes buckets = {};
  passes::BroadcastOptions broadcast = {};

  bool distributed() const { return exchange.nranks > 1; }
  bool exchanges_gradients() const { return distributed() && !local_sgd; }
};

struct Job {
  Program& main;
  Program& startup;
  const Settings& settings;
  Applied& applied;

  void say(std::vector<std::string> sentences) {
    for (std::string& sentence : sentences) applied.notices.push_back(std::move(sentence));
  }
};

struct Row {
  std::string_view name = {};
  bool (*wanted)(const Settings&) = nullptr;
  void (*run)(Job&) = nullptr;
  bool changes_startup = false;  // and not the main program
};

// The order of rows is the order of execution. passes::kFleetPasses lists the names.
constexpr Row kCollective[] = {
    {"lars", [](const Settings& s) { return s.lars; },
     [](Job& j) { j.say(use_lars(j.main, j.settings.lars_options)); }},
    {"lamb", [](const Settings& s) { return s.lamb; },
     [](Job& j) { j.say(use_lamb(j.main, j.settings.lamb_options)); }},
    {"sync_batch_norm", [](const Settings& s) { return s.distributed() && s.sync_batch_norm; },
     [](Job& j) { passes::sync_batch_norm(j.main); }},
    {"gradient_merge", [](const Settings& s) { return s.gradient_merge && s.merge.steps > 1; },
     [](Job& j) { passes::gradient_merge(j.main, j.startup, j.settings.merge); }},
    {"insert_all_reduce", [](const Settings& s) { return s.exchanges_gradients(); },
     [](Job& j) { insert_all_reduce(j.main, j.settings.exchange); }},
    {"fuse_all_reduce",
     [](const Settings& s) { return s.exchanges_gradients() && s.fuse_all_reduce; },
     [](Job& j) { j.applied.fusion = passes::fuse_all_reduce(j.main, j.settings.buckets); }},
    {"local_sgd", [](const Settings& s) { return s.distributed() && s.local_sgd; },
     [](Job& j) { passes::local_sgd(j.main, j.startup, j.settings.local); }},
    {"broadcast_parameters", [](const Settings& s) { return s.distributed(); },
     [](Job& j) { broadcast_parameters(j.startup, j.settings.broadcast); }, true},
};

constexpr bool names_agree() {
  size_t i = 0;
  for (const Row& row : kCollective) {
    if (i == passes::kFleetPasses.size() || passes::kFleetPasses[i++] != row.name) return false;
  }
  return i == passes::kFleetPasses.size();
}
static_assert(names_agree());

std::string merging_of(const Settings& settings) {
  if (!settings.distributed()) return "";
  if (settings.local_sgd) {
    return settings.local.steps == 1
               ? "parameters are averaged over workers in every step"
               : fmt::format("parameters are averaged over workers every {} steps",
                             settings.local.steps);
  }
  const passes::ExchangeOptions& exchange = settings.exchange;
  std::string text = !exchange.average ? "gradients are added up"
                     : exchange.by_samples
                         ? "gradients are averaged over the samples of all workers"
                         : "gradients are averaged over workers";
  if (settings.gradient_merge && settings.merge.steps > 1) {
    text += fmt::format(", {} steps at a time", settings.merge.steps);
  }
  return text;
}

Applied apply(Program& main, Program& startup, const Settings& settings,
              std::vector<std::string> notices) {
  Applied applied{.notices = std::move(notices), .merging = merging_of(settings)};
  Job job{main, startup, settings, applied};
  for (const Row& row : kCollective) {
    if (!row.wanted(settings)) continue;
    row.run(job);
    applied.passes.emplace_back(row.name);
    passes::dump_after(row.name, row.changes_startup ? startup : main);
  }
  verify(main, Stage::kParallel);
  verify(startup, Stage::kParallel);
  return applied;
}

Settings settings_of(const Role& role) {
  require(role.collective && role.is_worker(),
          "gradients are exchanged between the workers of a collective job, but this process is {}",
          role.collective ? "no worker" : "of a job with parameter servers");
  Settings settings;
  settings.exchange.nranks = role.workers;
  settings.broadcast = {
      .rank = role.index, .nranks = role.workers, .endpoints = role.worker_endpoints};
  return settings;
}

template <typename Names>
std::vector<std::string> list_of(const Names& names) {
  return {names.begin(), names.end()};
}

}  // namespace

Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::DistributedStrategy& strategy) {
  check(strategy);
  const strategy::DistributedStrategy& s = strategy.message();
  Settings settings = settings_of(role);
  settings.lars = s.lars();
  settings.lars_options = {.coeff = s.lars_configs().lars_coeff(),
                           .weight_decay = s.lars_configs().lars_weight_decay(),
                           .epsilon = s.lars_configs().epsilon(),
                           .exclude = list_of(s.lars_configs().exclude_from_weight_decay())};
  settings.lamb = s.lamb();
  settings.lamb_options = {.weight_decay = s.lamb_configs().lamb_weight_decay(),
                           .exclude = list_of(s.lamb_configs().exclude_from_weight_decay())};
  settings.gradient_merge = s.gradient_merge();
  settings.merge = {.steps = s.gradient_merge_configs().k_steps(),
                    .average = s.gradient_merge_configs().avg()};
  settings.local_sgd = s.localsgd();
  settings.local = {.nranks = role.workers,
                    .steps = s.localsgd_configs().k_steps(),
                    .begin = s.localsgd_configs().begin_step()};
  settings.sync_batch_norm = s.sync_batch_norm();
  settings.fuse_all_reduce = s.fuse_all_reduce_ops();
  const std::string& scale = s.gradient_scale_configs().scale_strategy();
  settings.exchange.by_samples = scale == "samples";
  settings.exchange.average = scale == "avg" || scale == "samples";
  settings.exchange.use_calc_stream = s.calc_comm_same_stream();
  constexpr int64_t kMegabyte = 1 << 20;
  settings.buckets = {.ends = static_cast<int64_t>(s.last_comm_group_size_mb() * kMegabyte),
                      .between = s.fuse_grad_size_in_mb() * kMegabyte};
  return apply(main, startup, settings, unsupported(strategy));
}

Applied apply_collective(Program& main, Program& startup, const Role& role,
                         const passes::FluidStrategy& strategy) {
  const strategy::FluidStrategy& s = strategy.message();
  Settings settings = settings_of(role);
  const std::string& mode = s.collective_mode();
  require(mode.empty() || mode == "grad_allreduce" || mode == "local_sgd",
          "collective_mode must be \"grad_allreduce\" or \"local_sgd\", but is \"{}\"", mode);
  settings.local_sgd = s.use_local_sgd() || mode == "local_sgd";
  settings.local.nranks = role.workers;
  settings.sync_batch_norm = s.sync_batch_norm();
  settings.fuse_all_reduce = s.fuse_all_reduce_ops();
  // 0 divides by the number of ranks; 1 and 2 leave the gradient of the loss to the program.
  settings.exchange.average = s.gradient_scale_strategy() == 0;
  return apply(main, startup, settings, unsupported(strategy));
}

}  // namespace flotilla::fleet
