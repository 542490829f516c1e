// flotilla/job/worker_meeting.h
//
// Where the workers of a job with servers wait for each other, over its state (job_state.h): each
// counts to how many barriers and gathers it has come, and nobody waits for one that is gone.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/job/job_state.h"
#include "flotilla/job/membership.h"

namespace flotilla::job {

// What a worker is doing meanwhile, for those who ask.
inline constexpr char kWaitsForWorkers[] = "waits for the other workers";

class WorkerMeeting {
 public:
  // This is worker `rank` of so many, and is there from now on. `membership` and `job_state`
  // outlive it.
  WorkerMeeting(Membership& membership, JobState& job_state, int rank, int workers);

  int rank() const { return rank_; }

  // Waits until all workers that are there have come to this barrier. Each calls `all_came` then,
  // and none returns before all who came have called it.
  using AllCame = std::function<void()>;
  void barrier(const AllCame& all_came);
  // What every worker gives, in the order of ranks; nothing of those that are gone. For small
  // values: they go through the store.
  std::vector<std::optional<std::string>> gather(const std::string& mine, const AllCame& all_came);
  // Nobody waits for this worker any more.
  void leave();

 private:
  // A meeting counts twice: who has come, then who has called `all_came`.
  struct Counter {
    const char* name = "";
    int64_t count = 0;
  };

  void meet(Counter& counter, const AllCame& all_came);
  // Counts on, and waits until all that have counted to `since` count as far, or are gone.
  void count(Counter& counter, int64_t since);
  std::string key(const char* name) const;

  Membership& membership_;
  JobState& job_state_;
  const int rank_;
  const int workers_;
  Counter barriers_ = {.name = "barrier"};
  Counter gathers_ = {.name = "gather"};
};

}  // namespace flotilla::job
