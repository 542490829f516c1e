// flotilla/launch/run.h
//
// Runs a job to its end.

#pragma once

#include "flotilla/launch/job.h"

namespace flotilla::launch {

// Starts the processes, watches them and returns the exit code of the job: 0 if every worker ended
// well, otherwise that of the process that failed first (128 + signal), or 130 after Ctrl-C.
// Whatever happens, no process, socket or file of the job is left but the logs. Refuses what
// plan_job() and the first start refuse; then nothing runs.
//
// Takes over SIGINT, SIGTERM and SIGHUP while it runs. Call it from the main thread, before others
// are started.
int run(const JobOptions& options, const Machine& machine);

}  // namespace flotilla::launch
