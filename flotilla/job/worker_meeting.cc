#include "flotilla/job/worker_meeting.h"

#include <fmt/format.h>

#include <limits>

namespace flotilla::job {

WorkerMeeting::WorkerMeeting(Membership& membership, JobState& job_state, int rank, int workers)
    : membership_(membership), job_state_(job_state), rank_(rank), workers_(workers) {
  job_state_.set_leased(key("alive"), fmt::to_string(membership_.self().attempt));
  job_state_.set(key("barrier"), "0");
  job_state_.set(key("gather"), "0");
}

std::string WorkerMeeting::key(const char* name) const { return fmt::format("{}/{}", name, rank_); }

// A worker that was started again comes to what the others have passed: it need not wait.
void WorkerMeeting::count(Counter& counter, int64_t since) {
  const int64_t count = ++counter.count;
  job_state_.set(key(counter.name), fmt::to_string(count));
  const auto here = [&](const JobEntries& entries) {
    for (int rank = 0; rank < workers_; ++rank) {
      const auto entry = entries.find(fmt::format("{}/{}", counter.name, rank));
      if (entry == entries.end()) return false;
      const bool gone = !entries.contains(fmt::format("alive/{}", rank));
      const int64_t counted = std::stoll(entry->second);
      if (!gone && since <= counted && counted < count) return false;
    }
    return true;
  };
  job_state_.wait(here, kWaitsForWorkers);
}

// Whoever has not counted once by the second time was started again after the first: it is no part
// of this meeting, and may itself wait for those who are.
void WorkerMeeting::meet(Counter& counter, const AllCame& all_came) {
  count(counter, 0);
  all_came();
  count(counter, counter.count);
}

void WorkerMeeting::barrier(const AllCame& all_came) { meet(barriers_, all_came); }

std::vector<std::optional<std::string>> WorkerMeeting::gather(const std::string& mine,
                                                              const AllCame& all_came) {
  const int64_t meeting = gathers_.count;
  const auto place = [&](int rank) { return fmt::format("gather/{}/{}.", meeting, rank); };
  rpc::StoreClient& store = membership_.store();
  store.set(place(rank_), mine);
  std::vector<std::optional<std::string>> all;
  meet(gathers_, [&] {
    for (int rank = 0; rank < workers_; ++rank) all.push_back(store.find(place(rank)));
    all_came();
  });
  store.erase(place(rank_));  // all who came have read it
  return all;
}

void WorkerMeeting::leave() {
  const std::string all = fmt::to_string(std::numeric_limits<int64_t>::max());
  for (const char* counter : {"barrier", "gather"}) job_state_.set(key(counter), all);
}

}  // namespace flotilla::job
