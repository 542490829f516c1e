// flotilla/launch/schedulers.h
//
// Launchers that a scheduler starts, one on each host: `srun fleetrun train.py`.
//
//   Slurm      the first of SLURM_STEP_NODELIST or SLURM_JOB_NODELIST is where they meet; this host
//              is SLURM_NODEID of SLURM_STEP_NUM_NODES or SLURM_NNODES
//   Open MPI   this host is OMPI_COMM_WORLD_RANK of OMPI_COMM_WORLD_SIZE. Its variables name no
//              hosts: inside of a Slurm job those of Slurm do, elsewhere --master must
//
// The processes that such launchers start read the variables of Paddle, not these.

#pragma once

#include "flotilla/launch/options.h"

namespace flotilla::launch {

// Fills in --master, --nnodes and --rank where a scheduler has started several launchers and the
// command line names no hosts. Refuses several launchers on one host, and hosts that nobody names.
void take_scheduler(JobOptions& options);

}  // namespace flotilla::launch
