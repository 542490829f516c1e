// python/src/bind_job.h
//
// The job of this Python process: what it reports, and its connection to the job's store.

#pragma once

#include "flotilla/base/progress.h"
#include "flotilla/job/membership.h"

namespace flotilla::python {

// What this process does; never null.
Progress* progress();

inline constexpr char kWaitsForBatch[] = "waits for a batch";

// Joins the job that the environment or `role` names, once; null where the process is on its own or
// was forked from one that has joined. Gives the lock of the interpreter back while it waits.
job::Membership* join_job(const fleet::Role& role);

// Whether somebody has interrupted the job: its processes end as by Ctrl-C.
bool job_interrupted();

// The same before the first run of a launched process that did not ask to join. Costs one branch
// from then on.
void join_job_if_launched();

// Whether this process, not the one that it was forked from, has joined a job.
bool in_job();

}  // namespace flotilla::python
