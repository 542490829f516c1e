// flotilla/launch/hosts.h
//
// The hosts of a job on several of them: how they come together before the processes are started,
// hear of stalls, say where their processes stand, and part. What is said travels over a Link; a
// job of one host has none and is together from the beginning.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/reminder.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/link.h"
#include "flotilla/launch/report.h"
#include "flotilla/launch/voice.h"

namespace flotilla::launch {

class Hosts {
 public:
  using Clock = std::chrono::steady_clock;
  using Parts = std::vector<std::vector<Standing>>;  // of each host

  // `stop` is asked while something is waited for: true ends that.
  // REQUIRES: options, job and voice live as long as this
  Hosts(const JobOptions& options, const Job& job, std::string token, std::function<bool()> stop,
        Voice& voice);

  // Begins to meet the others, for an attempt of the job: with a link of its own. Refuses a host
  // without processes.
  void meet(int64_t attempt);
  // REQUIRES: has_link()
  Link& link() { return *link_; }
  bool has_link() const { return link_.has_value(); }
  // Nothing is left of this attempt.
  void forget();

  bool is_connecting() const { return state_ == State::kConnecting; }
  bool is_meeting() const { return is_connecting() || state_ == State::kJoining; }
  bool is_together() const { return state_ == State::kTogether; }
  bool is_apart() const { return state_ == State::kApart; }
  void part() { state_ = State::kApart; }

  // Gets on with meeting; people are told for whom it waits. kLost: the store that it had found is
  // gone. Refuses what cannot come together: hosts that mean another job, or that nobody knows.
  enum class Progress { kNone, kTogether, kLost };
  Progress come_together();

  // Something does not move here.
  void report_stall(const std::string& sentence) { link_->report_stall(stalls_, sentence); }
  // The next stall that some host has reported, once all have said where they stand, or have had
  // the time to. `standing` is asked when it is heard of.
  struct Stall {
    std::string sentence = {};
    Parts parts = {};
  };
  std::optional<Stall> next_stall(const std::function<std::vector<Standing>()>& standing);

  // The job fails: says where the processes of this host stand, and asks the others.
  void say_last_standing(const std::vector<Standing>& rows);
  // What all said, once all have or have had the time to; nothing before.
  std::optional<Parts> last_standings();

  // This host's workers, and then all of its processes, have ended; each is said once.
  void say_workers_done();
  void say_done();

 private:
  enum class State { kConnecting, kJoining, kTogether, kApart };

  std::vector<std::string> missing_hosts() const;
  void look_for_missing();
  void remind();

  const JobOptions& options_;
  const Job& job_;
  const std::string token_;
  const std::function<bool()> stop_;
  Voice& voice_;
  const Clock::time_point began_ = Clock::now();
  std::optional<Link> link_;
  State state_ = State::kTogether;
  Reminder reminder_;                             // of the hosts that are not there
  Reminder look_;                                 // for why
  int64_t stalls_ = 0;                            // that all hosts have shown
  std::optional<Clock::time_point> stall_heard_;  // of the next one
  Clock::time_point last_asked_ = {};
  bool said_workers_done_ = false;
  bool said_done_ = false;
};

}  // namespace flotilla::launch
