#include "flotilla/launch/schedulers.h"

#include <fmt/format.h>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/host_list.h"

namespace flotilla::launch {
namespace {

constexpr int64_t kMost = 65536;

// The launchers of a job as their scheduler numbers them.
struct Started {
  const char* by = "";
  int64_t launchers = 1;
  int64_t hosts = 1;
  int64_t host = 0;          // this one
  const char* example = "";  // a command that starts one on each host
  std::string job = {};      // a name that other jobs do not have; empty: it has none
};

int64_t first_number(std::initializer_list<const char*> names, int64_t otherwise) {
  for (const char* name : names) {
    if (env::text(name)) return env::number_or(name, otherwise, 0, kMost);
  }
  return otherwise;
}

// Nothing: no scheduler has started this launcher, or it is alone.
std::optional<Started> find_started() {
  // Before Slurm: mpirun inside of a Slurm job starts the launchers itself.
  if (env::text("OMPI_COMM_WORLD_RANK")) {
    const int64_t launchers = first_number({"OMPI_COMM_WORLD_SIZE"}, 1);
    const int64_t here = first_number({"OMPI_COMM_WORLD_LOCAL_SIZE"}, 1);
    return Started{.by = "Open MPI",
                   .launchers = launchers,
                   .hosts = here == 1 ? launchers : 1,
                   .host = first_number({"OMPI_COMM_WORLD_RANK"}, 0),
                   .example = "mpirun --map-by ppr:1:node fleetrun ..."};
  }
  // Only srun starts launchers on all hosts; a batch script alone is not one of several.
  if (!env::text("SLURM_STEP_ID") || !env::text("SLURM_NODEID")) return std::nullopt;
  const int64_t hosts = first_number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 1);
  return Started{.by = "Slurm",
                 .launchers = first_number({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, hosts),
                 .hosts = hosts,
                 .host = first_number({"SLURM_NODEID"}, 0),
                 .example = "srun --ntasks-per-node=1 fleetrun ...",
                 .job = fmt::format("slurm {}.{}", env::text_or("SLURM_JOB_ID", ""),
                                    env::text_or("SLURM_STEP_ID", ""))};
}

std::string first_host(const Started& started) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    const std::optional<std::string> list = env::text(name);
    if (!list) continue;
    const std::vector<std::string> hosts = expand_hosts(*list, name);
    require(std::ssize(hosts) >= started.hosts, "{} started launchers on {} hosts, but {} is {}",
            started.by, started.hosts, name, *list);
    return hosts[0];
  }
  refuse(
      "{} started launchers on {} hosts, but no variable names them: give all of them the same "
      "--master host:port",
      started.by, started.hosts);
}

}  // namespace

void take_scheduler(JobOptions& options) {
  if (options.ips || options.servers || options.workers || options.nnodes == "1") return;
  const std::optional<Started> started = find_started();
  if (!started || started->launchers == 1) return;
  require(started->launchers == started->hosts,
          "{} started {} launchers on {}, but a launcher starts all processes of its host: start "
          "one on each host, as {} does, or give --nnodes 1 to run separate jobs",
          started->by, started->launchers,
          started->hosts == 1 ? "one host" : fmt::format("{} hosts", started->hosts),
          started->example);
  require(started->host < started->hosts, "{} numbers this host {}, but of {} hosts", started->by,
          started->host, started->hosts);
  if (!options.master) {
    const int64_t port = env::number_or("FLT_STORE_PORT", kStorePort, 1, 65535);
    options.master = Endpoint{first_host(*started), port}.text();
  }
  if (!options.nnodes) options.nnodes = fmt::to_string(started->hosts);
  if (!options.rank) options.rank = started->host;
  if (options.job_id == JobOptions().job_id && !started->job.empty()) options.job_id = started->job;
}

}  // namespace flotilla::launch
