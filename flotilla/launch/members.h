// flotilla/launch/members.h
//
// What the processes of a job have told its store, also after they are gone: the tables of who
// does what, whether somebody is stuck, and the run report are made from it.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::launch {

class Members {
 public:
  using Clock = std::chrono::steady_clock;

  struct Seen {
    rpc::Member member = {};
    bool here = false;             // connected
    Clock::time_point moved = {};  // when it last said something new

    bool worker() const { return member.role != "server"; }
    std::string name() const;  // "worker 1"
    // How long it has been doing what it said last, in seconds.
    double doing_for(Clock::time_point now) const;
  };

  // What the store's server tells; launchers of other hosts are left out.
  void note(rpc::StoreServer::Happening what, const rpc::Member& member);
  // For the processes that are started again as a whole.
  void clear();

  // Servers first, in the order of ranks.
  std::vector<Seen> all() const;

 private:
  mutable Mutex mutex_;
  std::map<std::pair<std::string, int64_t>, Seen> seen_ FLT_GUARDED_BY(mutex_);
};

// Who keeps the job from moving. A worker that waits for others is not to blame while one of them
// moves; where all wait for each other, all are named. Empty: the job moves, or nobody has
// reported.
std::vector<Members::Seen> stuck(const std::vector<Members::Seen>& seen,
                                 Members::Clock::time_point now, double limit);

}  // namespace flotilla::launch
