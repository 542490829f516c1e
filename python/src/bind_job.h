// python/src/bind_job.h
//
// The fleet of this Python process, its place in a job, which Python holds as core.fleet. What
// needs it is given it.

#pragma once

#include <functional>

#include "bind.h"
#include "flotilla/job/fleet.h"

namespace flotilla::python {

using FleetClass = nb::class_<job::Fleet>;

// Belongs to no job yet, and listens for Ctrl-C while it waits. Never destroyed: threads may report
// to it while the interpreter ends.
job::Fleet& make_fleet();

// Does what waits for servers, until it is done or Ctrl-C is pressed: then nothing more can be
// asked of them. From any thread.
void wait_for_servers(job::FleetOfServers& fleet, const std::function<void()>& work);

inline constexpr char kWaitsForBatch[] = "waits for a batch";

// Warns about a worker that trains a model of its own. REQUIRES: the lock of the interpreter;
// nobody changes the program meanwhile.
void warn_if_alone(job::Fleet& fleet, const Program& program);

FleetClass bind_job(nb::module_& m, job::Fleet& fleet);
void bind_programs(FleetClass& fleet);
void bind_comm(nb::module_& m, FleetClass& fleet);
void bind_servers(nb::module_& m, FleetClass& fleet);

}  // namespace flotilla::python
