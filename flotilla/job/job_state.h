// flotilla/job/job_state.h
//
// What the processes of a job with servers tell each other in its store, kept up to date in each:
//
//   ps/server/<i>     "host:port attempt", where server i answers
//   ps/status/<i>     "host:port", where it says how it fares (status_port.h)
//   ps/ready          the tables have their first values
//   ps/alive/<rank>   worker <rank> is connected; goes with it
//   ps/presence/<rank>  whether rounds wait for the worker: ps::Presence
//   ps/barrier/<rank>   twice as many as the barriers that the worker has passed
//
// Waits end when what they wait for is there, and throw kUnavailable when the job stops.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "flotilla/job/membership.h"

namespace flotilla::job {

// Key to value, the keys without "ps/".
using JobEntries = std::map<std::string, std::string, std::less<>>;

class JobState {
 public:
  // `while_waiting` is called about ten times a second by a thread that waits, without any lock; it
  // may throw, which ends the wait. `membership` outlives this object.
  explicit JobState(Membership& membership, std::function<void()> while_waiting = {});
  ~JobState();
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;

  void set(const std::string& key, const std::string& value);
  // Goes when this process does.
  void set_leased(const std::string& key, const std::string& value);

  std::optional<std::string> find(const std::string& key) const;
  JobEntries entries() const;

  // `enough` is called under a lock, after every change. `doing` lives for ever.
  using Enough = std::function<bool(const JobEntries&)>;
  void wait(const Enough& enough, const char* doing);
  std::string wait_for(const std::string& key, const char* doing);

  // `changed(key, value)` as StoreClient::watch, for all keys of the job; first for those that
  // are there. It is called for the last time before this object is destroyed.
  using Changed = std::function<void(const std::string&, const std::optional<std::string>&)>;
  void on_change(Changed changed);

 private:
  struct Shared;

  Membership& membership_;
  const std::function<void()> while_waiting_;
  const std::shared_ptr<Shared> state_;
  Membership::Listening listening_;
};

}  // namespace flotilla::job
