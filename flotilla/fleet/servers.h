// flotilla/fleet/servers.h
//
// What makes a program of one process that of a worker of parameter servers, by the strategy of
// whichever era.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flotilla/fleet/pipeline.h"
#include "flotilla/passes/ps_split.h"

namespace flotilla::fleet {

struct AppliedServers {
  Applied applied = {};
  passes::PsOptions options = {};
  // What the servers must have.
  std::vector<passes::ServerTable> tables = {};
};

// Rewrites the programs of minimize(), once. The same on workers and servers.
AppliedServers apply_servers(Program& main, Program& startup, const Role& role,
                             const passes::DistributedStrategy& strategy);
AppliedServers apply_servers(Program& main, Program& startup, const Role& role,
                             const passes::PsOptions& options);

// Asynchronous by default; a_sync = False is synchronous, a_sync_configs["k_steps"] above 0 Geo.
passes::PsOptions ps_options(const passes::DistributedStrategy& strategy);

// What 1.8 says: the fields of DistributeTranspilerConfig, which StrategyFactory's strategies hold
// as well, and TrainerRuntimeConfig's settings by name. Synchronous by default.
struct TranspilerSettings {
  bool sync_mode = true;
  bool runtime_split_send_recv = false;
  bool half_async = false;
  bool completely_not_async = false;
  bool geo_sgd_mode = false;
  int64_t geo_sgd_need_push_nums = 100;
  std::map<std::string, std::string> communicator = {};
};
passes::PsOptions ps_options(const TranspilerSettings& settings);

}  // namespace flotilla::fleet
