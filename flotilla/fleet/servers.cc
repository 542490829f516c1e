#include "flotilla/fleet/servers.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_support.h"

namespace flotilla::fleet {
namespace {

using passes::PsMode;
using passes::PsOptions;

PsMode mode_of(const TranspilerSettings& settings) {
  if (settings.sync_mode || settings.completely_not_async) return PsMode::kSync;
  if (settings.geo_sgd_mode) return PsMode::kGeo;
  // Without the communicator of runtime_split_send_recv every step sends, waits and fetches.
  if (settings.half_async || !settings.runtime_split_send_recv) return PsMode::kHalfAsync;
  return PsMode::kAsync;
}

int64_t number_of(const TranspilerSettings& settings, const std::string& name, int64_t otherwise) {
  const auto found = settings.communicator.find(name);
  if (found == settings.communicator.end()) return otherwise;
  const std::string& text = found->second;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size() && number >= 1,
          "{} must be a number from 1 on, but is \"{}\"", name, text);
  return number;
}

// Servers make rows as they are used, and cannot decay those that are not there.
std::vector<std::string> partial_decays(const std::vector<passes::ServerTable>& tables) {
  std::vector<std::string> notices;
  for (const passes::ServerTable& table : tables) {
    if (!table.sparse || (table.l1 == 0 && table.l2 == 0)) continue;
    notices.push_back(fmt::format(
        "the regularizer of the sparse table \"{}\" decays the rows that a step looks up; in one "
        "process it decays all rows",
        table.name));
  }
  return notices;
}

}  // namespace

AppliedServers apply_servers(Program& main, Program& startup, const Role& role,
                             const PsOptions& options) {
  require(!role.collective, "this process is of a collective job, which has no parameter servers");
  passes::PassContext context = {.main = main, .startup = &startup, .servers = options};
  AppliedServers made = {.options = options};
  made.applied.passes = names_of(run_passes(passes::PassStage::kAfterUpdate, context));
  made.tables = std::move(context.tables);
  made.applied.notices = std::move(context.notices);
  if (options.mode == PsMode::kGeo) return made;
  for (std::string& notice : partial_decays(made.tables)) {
    made.applied.notices.push_back(std::move(notice));
  }
  return made;
}

AppliedServers apply_servers(Program& main, Program& startup, const Role& role,
                             const passes::DistributedStrategy& strategy) {
  AppliedServers made = apply_servers(main, startup, role, ps_options(strategy));
  for (std::string& notice : passes::unsupported_by_servers(strategy)) {
    made.applied.notices.push_back(std::move(notice));
  }
  return made;
}

PsOptions ps_options(const passes::DistributedStrategy& strategy) {
  const strategy::AsyncConfig& config = strategy.message().a_sync_configs();
  // Without a word of the user's nothing is under way when a step begins (ps/worker.h).
  PsOptions options = {.send_queue = config.has_send_queue_size() ? config.send_queue_size() : 0,
                       .max_merge = config.max_merge_var_num(),
                       .pushes_per_refresh = config.min_send_grad_num_before_recv()};
  if (!strategy.message().a_sync()) {
    options.mode = PsMode::kSync;
  } else if (config.k_steps() > 0) {
    options.mode = PsMode::kGeo;
    options.geo_steps = config.k_steps();
  }
  return options;
}

PsOptions ps_options(const TranspilerSettings& settings) {
  const PsOptions initial;
  return {.mode = mode_of(settings),
          .geo_steps = settings.geo_sgd_need_push_nums,
          .send_queue = number_of(settings, "communicator_send_queue_size", initial.send_queue),
          .max_merge = number_of(settings, "communicator_max_merge_var_num", initial.max_merge),
          .pushes_per_refresh = number_of(settings, "communicator_min_send_grad_num_before_recv",
                                          initial.pushes_per_refresh)};
}

}  // namespace flotilla::fleet
