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
void WorkerMeeting::count(const char* name, int64_t count) {
  job_state_.set(key(name), fmt::to_string(count));
  const auto here = [&](const JobEntries& entries) {
    for (int rank = 0; rank < workers_; ++rank) {
      const auto counted = entries.find(fmt::format("{}/{}", name, rank));
      if (counted == entries.end()) return false;
      const bool gone = !entries.contains(fmt::format("alive/{}", rank));
      if (!gone && std::stoll(counted->second) < count) return false;
    }
    return true;
  };
  job_state_.wait(here, kWaitsForWorkers);
}

void WorkerMeeting::barrier() { count("barrier", ++barriers_); }

std::vector<std::optional<std::string>> WorkerMeeting::gather(const std::string& mine) {
  const auto place = [](int64_t count, int rank) {
    return fmt::format("gather/{}/{}.", count, rank);
  };
  rpc::StoreClient& store = membership_.store();
  store.set(place(++gathers_, rank_), mine);
  count("gather", gathers_);
  std::vector<std::optional<std::string>> all;
  for (int rank = 0; rank < workers_; ++rank) all.push_back(store.find(place(gathers_, rank)));
  // Who has come to this one has read the last one.
  if (gathers_ > 1) store.erase(place(gathers_ - 1, rank_));
  return all;
}

void WorkerMeeting::leave() {
  const std::string all = fmt::to_string(std::numeric_limits<int64_t>::max());
  for (const char* counter : {"barrier", "gather"}) job_state_.set(key(counter), all);
}

}  // namespace flotilla::job
