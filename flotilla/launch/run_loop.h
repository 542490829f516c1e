// flotilla/launch/run_loop.h
//
// A job while it runs: one loop that waits for whatever comes next, and decides what follows from
// it. What it decides about has parts of its own:
//
//   processes.h    the processes of this host       stall_watch.h  what does not move
//   hosts.h        the launchers of other hosts     restarts.h     how often is started again
//   job_store.h    the store, and what it is told   job_end.h      why the job ends
//   voice.h        what people and parents see
//
// The loop and the start are in run_loop.cc, ends in run_ending.cc, what other hosts bring about in
// run_hosts.cc.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/launch/hosts.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/job_end.h"
#include "flotilla/launch/job_store.h"
#include "flotilla/launch/processes.h"
#include "flotilla/launch/restarts.h"
#include "flotilla/launch/server_folder.h"
#include "flotilla/launch/signals.h"
#include "flotilla/launch/stall_watch.h"
#include "flotilla/launch/status_socket.h"
#include "flotilla/launch/voice.h"

namespace flotilla::launch {

// How long processes have between the request to end and the kill.
inline constexpr std::chrono::milliseconds kGraceAfterFailure{1500};
inline constexpr std::chrono::milliseconds kGraceAfterInterrupt{5000};
inline constexpr std::chrono::milliseconds kGraceOfServers{5000};
// Of those that keep tables: they have snapshots to write.
inline constexpr std::chrono::milliseconds kGraceOfTables{60000};

class Run {
 public:
  // REQUIRES: made in the main thread; options live as long as this
  Run(const JobOptions& options, Job job);
  // Until the job has ended; its exit code.
  int run();

 private:
  void begin();
  void wait_once();
  int patience() const;
  // What is done when its time has come, without being asked.
  void act_on_time();
  void on_signal(int signal);
  void on_parent_gone();
  void on_end(Running& running);
  // For `flotilla inspect job`: people's lines, then "status <server> <host:port>" of servers.
  std::string status();

  // What does not move (run_ending.cc).
  void check_stall();
  void end_stuck(const Stuck& found);

  // Several hosts (run_hosts.cc).
  void meet();
  void on_link();
  void follow_hosts();
  void follow_failure();

  // Failures and ends (run_ending.cc).
  void fail(Running& running);
  bool may_restart(const Outcome& failed);
  void restart_group();
  // Asks all hosts where their processes stand, since the job fails; shown at its end.
  void take_stock();
  void finish_servers();
  void say_workers_exit();
  // The processes hear the reason through the store; "": all went well.
  void begin_end(const std::string& reason, int signal, std::chrono::milliseconds grace);
  int close();

  const JobOptions& options_;
  const Job job_;
  const ServerFolder folder_;
  Guardian guardian_;  // before the store, which starts threads
  Parent parent_;
  Signals signals_;
  Voice voice_;  // behind the signals: its thread gets none
  StatusSocket status_socket_;
  const std::string token_;
  Hosts hosts_;
  JobStore store_;
  Processes processes_;  // the first to go
  StallWatch watch_;
  Restarts restarts_;
  JobEnd end_;
  std::optional<Outcome> missed_;  // the first worker that failed and without which others went on
  const Clock::time_point began_ = Clock::now();

  bool ending_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> restart_at_;  // of the whole group
  bool group_restarts_ = false;                  // as soon as all have ended
  bool said_workers_exit_ = false;
};

}  // namespace flotilla::launch
