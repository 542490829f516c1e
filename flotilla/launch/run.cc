#include "flotilla/launch/run.h"

#include <fmt/format.h>
#include <stdlib.h>

#include "flotilla/launch/rendezvous.h"
#include "flotilla/launch/run_loop.h"

namespace flotilla::launch {

int run(const JobOptions& options, const Machine& machine) {
  // Here and in all processes of the job.
  if (options.front != Front::kSpawn) {
    ::setenv("FLT_OUTAGE_LIMIT", fmt::format("{:g}", options.outage_limit).c_str(), 1);
  }
  wait_for_name_of_master(options);
  Job job = plan_job(options, machine);
  join_master(options, machine, job);
  return Run(options, std::move(job)).run();
}

}  // namespace flotilla::launch
