// flotilla/launch/job.h
//
// From options to a list of processes with everything they are given: role, rank, environment,
// command, log. A plain value: nothing is started here.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/launch/options.h"
#include "flotilla/launch/ports.h"

namespace flotilla::launch {

enum class Mode { kCollective, kServers };

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Process {
  std::string role = {};  // "worker", "server" or "heter_worker"
  int64_t rank = 0;       // among all of its role
  int64_t local = 0;      // among those of its role on this host
  std::string host = {};
  std::vector<std::string> command = {};

  // What it finds in its environment: the variables of the documents, in the order of their table,
  // and those that only Flotilla reads.
  Variables shown = {};
  Variables hidden = {};

  // Of its own endpoint. The child finds the number of the descriptor in FLT_LISTEN_FD.
  Listener listener = {};

  // In the log folder; empty: the launcher's own output.
  std::string log = {};
};

struct Job {
  Mode mode = Mode::kCollective;
  std::vector<std::string> hosts = {};
  int64_t host = 0;       // this one
  int64_t gpu_count = 0;  // of this host
  bool gpus = false;      // the processes have some of them
  // Of this host, servers before workers.
  std::vector<Process> processes = {};
  std::string log_dir = {};  // empty: none
  // What a user should know beforehand, a sentence each.
  std::vector<std::string> notices = {};
};

// What is known of this machine.
struct Machine {
  int64_t cores = 1;
  int64_t gpus = 0;
  std::vector<std::string> addresses = {"127.0.0.1"};  // and host names
  std::string python = "python3";
};

// `program` is the launcher as it was called, argv[0].
Machine this_machine(const std::string& program);

// Refuses what contradicts itself or the machine: lists of different lengths, a host that is not
// in the list, a script that is not there, a port that is taken. Binds the ports of this host's
// processes.
Job plan_job(const JobOptions& options, const Machine& machine);

}  // namespace flotilla::launch
