// flotilla/fleet/role_schedulers.h
//
// Jobs that a scheduler starts, without any variable of Paddle's: each process knows its number,
// how many there are, and maybe on which machines.
//
//   Slurm (srun)   SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID,
//                  SLURM_STEP_NODELIST or SLURM_JOB_NODELIST
//   Open MPI       OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK,
//                  OMPI_COMM_WORLD_LOCAL_SIZE

#pragma once

#include <optional>

#include "flotilla/fleet/role.h"

namespace flotilla::fleet {

// The collective role that a scheduler gives to this process; nothing where none started it.
std::optional<Role> role_from_scheduler();

}  // namespace flotilla::fleet
