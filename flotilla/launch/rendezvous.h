// flotilla/launch/rendezvous.h
//
// Hosts that know nothing of each other but where to meet (--master host:port --nnodes 2). Whoever
// has that address gathers them, numbers them and tells everyone who is there:
//
//   each host    plans its own processes, binds their ports, goes to the master: "arrived"
//   the master   waits for --nnodes; of a range, for the least and then --elastic_timeout for
//   others
//                ranks: those of --rank, the rest in the order of arrival
//   each host    gets the list of all, and the token that the job's store will ask for
//
// Then the master gives its port to the store of the job. Hosts may come in any order, and wait.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/reminder.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/link.pb.h"
#include "flotilla/rpc/dial.h"

namespace flotilla::launch {

// Who takes part, as far as it is known. Decides only; no network here.
class Gathering {
 public:
  Gathering(const JobOptions& options, Arrived first);

  // Why a host that has just arrived cannot take part; "": it does.
  struct Verdict {
    std::string refusal = {};
    bool ends_all = false;  // the others mean different jobs, too
  };
  Verdict add(const Arrived& host);
  void remove(const std::string& name);

  bool enough() const;
  bool full() const;
  const std::vector<Arrived>& arrived() const { return arrived_; }
  // In the order of their ranks. Refuses ranks beyond the number of hosts.
  std::vector<Arrived> ranked() const;

 private:
  const HostCount count_;
  std::vector<Arrived> arrived_;  // the first is the master
};

// How long a name that nobody knows is waited for, and when people are told.
struct NameWait {
  std::chrono::milliseconds patience = rpc::patience_with_names();
  Reminder::Times times = {};
};

// Waits until the name of --master is known: it may come with its host. Refuses one that nobody
// knows when `patience` is over; a resolver that does not answer is waited for.
void wait_for_name_of_master(const JobOptions& options, const NameWait& wait = {});

// Makes the plan of this host a part of the job of all: hosts, ranks, endpoints, variables, store
// and token. Waits for the others; does nothing where there is no --master to meet at. Refuses what
// the master refuses.
void join_master(const JobOptions& options, const Machine& machine, Job& job);

}  // namespace flotilla::launch
