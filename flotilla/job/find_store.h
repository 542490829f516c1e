// flotilla/job/find_store.h
//
// The store of a job that no launcher started (by hand, Kubernetes, Slurm, Open MPI): its first
// process hosts it, worker 0 of a collective job and server 0 of one with parameter servers, and
// the others connect there.
//
//   where it is                                             who says so
//   PADDLE_MASTER                                           the user
//   the endpoint of the first process                       Paddle's variables of any era
//   the machine of worker 0, port FLT_STORE_PORT or 6069    Slurm; Open MPI on one machine
//
// The secret is FLT_JOB_TOKEN. Without one, connections are taken from the listed hosts only.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/reminder.h"
#include "flotilla/fleet/role.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::job {

// The store in the process that hosts it. The first connection that is lost stops the job. Server 0
// gives its endpoint away for this: its tables listen elsewhere and say where through the store.
class HostedStore {
 public:
  // How many processes the job has.
  struct Expected {
    int64_t workers = 0;
    int64_t servers = 0;
  };

  HostedStore(rpc::StoreServer::Options options, Expected expected,
              std::chrono::milliseconds patience, Reminder::Times times = Reminder::Times());
  // Waits until the others have come and gone: the store outlives every process of the job. Does
  // not wait for those that have not come when `patience` is over, nor for long after a loss.
  ~HostedStore();
  HostedStore(const HostedStore&) = delete;
  HostedStore& operator=(const HostedStore&) = delete;

  rpc::StoreServer& server() { return *server_; }

  // To be called now and then, by one thread: tells people who has not come yet, while anybody has
  // not.
  void remind();

  // This process was asked to end: all others are told why, and have a second to leave. From any
  // thread.
  void end(const std::string& reason);

 private:
  struct Seen;

  const Expected expected_;
  Reminder reminder_;
  const std::chrono::steady_clock::time_point until_;
  const std::unique_ptr<Seen> seen_;
  std::optional<rpc::StoreServer> server_;  // the last: its threads write `seen_`
};

struct FoundStore {
  std::string address = {};
  std::string token = {};
  std::unique_ptr<HostedStore> host = {};  // in the process that hosts it
};

struct FindStoreOptions {
  // How long the first process may take to appear: pods and tasks start in any order.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  // When people are told what is waited for.
  Reminder::Times times = {};
  // Called now and then while something is waited for; what it throws ends the wait.
  std::function<void()> while_waiting = {};
};

// From where processes of a job without FLT_JOB_TOKEN may come: the hosts that its own lists name,
// and this one. Empty, which means any: where the lists do not name the workers' hosts, as those of
// 0.14 do not.
std::vector<std::string> hosts_of_job(const fleet::Role& role, const std::string& here);

// Hosts the store or waits until it answers. Nothing where the process is alone. Refuses a job of
// which nobody says where its first process runs, or whose endpoints name a host that there is not.
std::optional<FoundStore> find_store(const fleet::Role& role, const FindStoreOptions& options = {});

}  // namespace flotilla::job
