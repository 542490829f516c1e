// flotilla/launch/job.h
//
// From options to a list of processes with everything they are given: role, rank, environment,
// command, log. A plain value: nothing is started here.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/endpoint.h"
#include "flotilla/launch/devices.h"
#include "flotilla/launch/machine.h"
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

  std::string log = {};  // its name in the log folder
};

// Where the processes of a job are: role by role, in the order of their ranks.
struct Endpoints {
  std::vector<Endpoint> servers = {};
  std::vector<Endpoint> workers = {};
  std::vector<Endpoint> heters = {};
};

struct Job {
  Mode mode = Mode::kCollective;
  std::vector<std::string> hosts = {};
  int64_t host = 0;       // this one
  int64_t gpu_count = 0;  // of this host
  Devices devices = {};
  Endpoints endpoints = {};
  // Of this host, servers before workers.
  std::vector<Process> processes = {};
  std::string log_dir = {};  // empty: none, the processes write where the launcher does
  // What a user should know beforehand, a sentence each.
  std::vector<std::string> notices = {};

  // Of several hosts: where their store is, and where this host serves it; empty: another does.
  std::string store = {};
  std::string serve_at = {};
  std::string token = {};  // empty: none was agreed upon
};

// Which of `hosts` this one is: --rank, --host or POD_IP say so, or its addresses. `what` is the
// name of the list. Refuses a machine that is not in it.
int64_t find_self(const std::vector<std::string>& hosts, const JobOptions& options,
                  const Machine& machine, const char* what);

// Refuses what contradicts itself or the machine: lists of different lengths, a host that is not
// in the list, a script that is not there, a port that is taken. Binds the ports of this host's
// processes. Where --master brings hosts together, this host's part alone, for join_master().
Job plan_job(const JobOptions& options, const Machine& machine);

// Gives every process its variables. REQUIRES: the endpoints and ranks are final, and this is the
// first call.
void describe_processes(Job& job);

}  // namespace flotilla::launch
