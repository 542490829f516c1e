// flotilla/launch/processes.h
//
// The processes of this host, through all their attempts: started, signalled, waited for. When one
// is started again, and what follows from an end, is decided by the run (run_loop.h).

#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/launch/environment.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/report.h"
#include "flotilla/launch/restart_pause.h"
#include "flotilla/launch/spawn.h"
#include "flotilla/launch/voice.h"

namespace flotilla::launch {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

// A process of the job, through all its attempts.
struct Running {
  const Process* process = nullptr;
  std::optional<Child> child = {};
  Clock::time_point started = {};
  std::optional<Clock::time_point> restart_at = {};  // of this process alone
  RestartPause pause = {};
  int64_t log_begin = 0;                          // of this attempt
  std::optional<Clock::time_point> stopped = {};  // since when, by a signal
  Outcome outcome = {};

  bool server() const { return process->role == "server"; }
  // It is there, or will be.
  bool runs() const { return child.has_value() || restart_at.has_value(); }
};

class Processes {
 public:
  // REQUIRES: all of them live as long as this
  Processes(const JobOptions& options, const Job& job, Guardian& guardian, Voice& voice);

  // What those that are started from now on are told.
  void set_surroundings(Surroundings around) { around_ = std::move(around); }
  // Starts all, and shows people what the first of each role is told.
  void start_all();
  // Starts one, in its next attempt or the first.
  void start(Running& running);
  // Those whose time to be started again has come.
  void start_due();
  std::optional<Clock::time_point> next_restart() const;

  // Takes the end of one that has ended.
  void reap(Running& running);
  void signal_all(int signal) const;
  // Nobody is started again by itself.
  void cancel_restarts();
  // All go on to their next attempt.
  void count_attempt();

  bool anyone_runs() const;
  bool workers_done() const;
  // One that runs, by its name; null: there is none.
  Running* find(const std::string& name);
  // Never empty but on a host that takes no part.
  std::deque<Running>& all() { return running_; }
  const std::deque<Running>& all() const { return running_; }
  std::vector<Outcome> outcomes() const;

 private:
  Fd begin_log(Running& running, const std::string& name);

  const JobOptions& options_;
  const Job& job_;
  Guardian& guardian_;
  Voice& voice_;
  Surroundings around_;
  std::deque<Running> running_;
};

}  // namespace flotilla::launch
