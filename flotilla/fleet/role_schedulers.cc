#include "flotilla/fleet/role_schedulers.h"

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/host_list.h"

namespace flotilla::fleet {
namespace {

constexpr int64_t kMostProcesses = 4096;

// The names under which a scheduler says the same things. Where two stand together, the first that
// is set counts.
struct Scheduler {
  const char* name;
  const char* rank;
  std::vector<const char*> sizes;
  const char* local_rank;
  const char* local_size;            // null: none
  std::vector<const char*> hosts;    // lists of machines, the first with rank 0
  std::vector<const char*> only_if;  // one of these must be set too; empty: no matter
};

const std::vector<Scheduler>& schedulers() {
  static const std::vector<Scheduler> rows = {
      // Before Slurm: mpirun inside of a Slurm allocation starts the processes itself.
      {"Open MPI",
       "OMPI_COMM_WORLD_RANK",
       {"OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       {},
       {}},
      // A batch script is alone although it has a number: only srun starts all tasks.
      {"Slurm",
       "SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       "SLURM_LOCALID",
       nullptr,
       {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"},
       {"SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS"}},
  };
  return rows;
}

// The first of `names` that is set; null: none is.
const char* first_set(const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (env::text(name)) return name;
  }
  return nullptr;
}

Role role_of(const Scheduler& scheduler) {
  Role role = {.collective = true, .started_by = scheduler.name};
  const char* size = first_set(scheduler.sizes);
  require(size != nullptr, "{} is set, so this is a task of {}, but {} does not say of how many",
          scheduler.rank, scheduler.name, scheduler.sizes.back());
  role.workers = env::number_or(size, 1, 1, kMostProcesses);
  role.index = env::number_or(scheduler.rank, 0, 0, kMostProcesses);
  require(role.index < role.workers, "{} is {}, but {} is {}", scheduler.rank, role.index, size,
          role.workers);
  role.local_rank = env::number_or(scheduler.local_rank, 0, 0, kMostProcesses);
  require(role.local_rank <= role.index, "{} is {}, but {} is only {}", scheduler.local_rank,
          role.local_rank, scheduler.rank, role.index);
  if (const char* hosts = first_set(scheduler.hosts)) {
    role.hosts = expand_hosts(*env::text(hosts), hosts);
  } else if (scheduler.local_size != nullptr &&
             env::number_or(scheduler.local_size, 0, 1, kMostProcesses) == role.workers) {
    role.hosts = {"127.0.0.1"};
  }
  return role;
}

}  // namespace

std::optional<Role> role_from_scheduler() {
  for (const Scheduler& scheduler : schedulers()) {
    const bool sure = scheduler.only_if.empty() || first_set(scheduler.only_if) != nullptr;
    if (env::text(scheduler.rank) && sure) return role_of(scheduler);
  }
  return std::nullopt;
}

}  // namespace flotilla::fleet
