// flotilla/launch/run_state.h
//
// A job while it runs. The parts of the class stand in run.cc (starting), run_watch.cc (watching
// and ending), run_stall.cc (what does not move) and run_hosts.cc (several hosts).

#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/reminder.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/link.h"
#include "flotilla/launch/logs.h"
#include "flotilla/launch/members.h"
#include "flotilla/launch/outlet.h"
#include "flotilla/launch/report.h"
#include "flotilla/launch/restart_pause.h"
#include "flotilla/launch/server_folder.h"
#include "flotilla/launch/spawn.h"
#include "flotilla/launch/status_socket.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::launch {

using Clock = std::chrono::steady_clock;

// How long processes have between the request to end and the kill.
inline constexpr std::chrono::milliseconds kGraceAfterFailure{1500};
inline constexpr std::chrono::milliseconds kGraceAfterInterrupt{5000};
inline constexpr std::chrono::milliseconds kGraceOfServers{5000};
// Of those that keep tables: they have snapshots to write.
inline constexpr std::chrono::milliseconds kGraceOfTables{60000};

// How often servers that are killed are started again where --max_restart says nothing.
inline constexpr int64_t kServerRestarts = 3;

inline double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

// Blocks the signals that end a job and hands them out as reads. Threads that were there before,
// those of gRPC for one, do not block them: they hand what they get to this one.
// REQUIRES: made in the main thread
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : kSignals) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, &before_);
    struct sigaction hand_over = {};
    hand_over.sa_handler = [](int signal) { syscall(SYS_tgkill, getpid(), getpid(), signal); };
    hand_over.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &actions_[i]);
      if (actions_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &hand_over, nullptr);
    }
    fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    signal(SIGPIPE, SIG_IGN);  // a closed terminal must not end the launcher before its children
  }
  ~Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<int> next() const {
    signalfd_siginfo info = {};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

  sigset_t before_ = {};
  std::array<struct sigaction, kSignals.size()> actions_ = {};
  Fd fd_;
};

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

class Run {
 public:
  Run(const JobOptions& options, Job job);
  int run();

 private:
  void announce();
  void begin();
  std::vector<std::string> only_from() const;
  void serve_store(const std::string& address);
  void start_all();
  void start(Running& running);
  Fd begin_log(Running& running, const std::string& name);
  Variables shown_of(const Process& process) const;
  std::vector<std::string> environment_of(const Running& running) const;

  void wait_once();
  int patience() const;
  // A signal has come that is not taken yet, or whoever started the job is gone.
  bool asked_to_end() const;
  void on_signal(int signal);
  void on_parent_gone();
  void reap(Running& running);
  void on_end(Running& running);

  // What does not move (run_stall.cc).
  struct Stuck;
  void check_stall();
  std::optional<Stuck> find_stuck(double limit);
  void end_stuck(const Stuck& found);
  // Where everyone stands, as far as this host knows.
  std::vector<Standing> standing();
  void warn_of_stall(const std::string& sentence, const std::vector<std::vector<Standing>>& parts);
  double stall_limit() const;
  // For `flotilla inspect job`: people's lines, then "status <server> <host:port>" of servers.
  std::string status();
  // A process of this host that runs, by its name; null: there is none.
  Running* find(const std::string& name);

  // Several hosts (run_hosts.cc).
  enum class Meeting { kConnecting, kJoining, kTogether, kApart };
  void meet();
  void on_link();
  std::vector<std::string> missing_hosts() const;
  void look_for_missing();
  void remind();
  void follow_hosts();
  void follow_failure();
  void follow_stalls();
  // Asks all hosts where their processes stand, since the job fails; shown at its end.
  void take_stock();
  bool stock_is_taken();
  void leave_hosts();

  void fail(Running& running);
  void finish_servers();
  void say_workers_exit();
  bool may_restart(const Outcome& failed);
  void restart_alone(Running& running);
  void restart_group();
  // The processes hear the reason through the store; "": all went well.
  void begin_end(const std::string& reason, int signal, std::chrono::milliseconds grace);
  void signal_all(int signal);
  std::string say_report();           // and returns it as JSON
  void tell(std::string_view event);  // whoever has started the launcher
  int close();

  bool anyone_runs() const {
    return std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.runs(); });
  }
  bool workers_done() const {
    return std::all_of(running_.begin(), running_.end(),
                       [](const Running& r) { return r.server() || !r.runs(); });
  }
  void say(std::string_view text) {
    if (!options_.quiet) outlet_.write(STDERR_FILENO, text);
  }

  const JobOptions& options_;
  const Job job_;
  const ServerFolder folder_;
  Guardian guardian_;  // before the store, which starts threads
  Fd parent_;          // readable when the process of --parent_pid has ended; none: nobody asks
  Signals signals_;
  Outlet outlet_;  // behind the signals: its thread gets none
  StatusSocket status_socket_;
  Mirror mirror_;
  const std::string token_;
  Members members_;  // before the store, which tells it
  std::string store_address_;
  std::optional<Link> link_;               // where there are several hosts
  std::optional<rpc::StoreServer> store_;  // on the first host
  std::deque<Running> running_;
  const Clock::time_point began_ = Clock::now();

  std::optional<Outcome> culprit_;
  std::optional<Outcome> missed_;  // the first worker that failed and without which others went on
  // Where everyone stood when the job failed, as every host knew it.
  std::vector<std::vector<Standing>> stock_;
  Clock::time_point stock_asked_ = {};
  std::string stalled_;            // why the job was ended where nobody is to blame
  Clock::time_point looked_ = {};  // for what does not move
  Clock::time_point warned_ = {};  // of it
  int interrupted_ = 0;            // the signal that ended the job; 0: none
  bool ending_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> restart_at_;  // of the whole group
  bool group_restarts_ = false;                  // as soon as all have ended
  int64_t restarts_ = 0;

  Meeting meeting_ = Meeting::kTogether;
  Reminder reminder_;                             // of the hosts that are not there
  Reminder look_;                                 // for why
  int64_t stalls_ = 0;                            // that all hosts have shown
  std::optional<Clock::time_point> stall_heard_;  // of the next one
  bool said_workers_exit_ = false;
  bool said_workers_done_ = false;
  bool said_done_ = false;
  std::string lost_;  // why the hosts came apart; empty: they did not
};

}  // namespace flotilla::launch
