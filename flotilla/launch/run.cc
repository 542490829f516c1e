#include "flotilla/launch/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <optional>

#include "flotilla/base/error.h"
#include "flotilla/launch/logs.h"
#include "flotilla/launch/print.h"
#include "flotilla/launch/report.h"
#include "flotilla/launch/spawn.h"
#include "flotilla/rpc/store_server.h"

extern char** environ;

namespace flotilla::launch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long processes have between the request to end and the kill.
constexpr milliseconds kGraceAfterFailure{1500};
constexpr milliseconds kGraceAfterInterrupt{5000};
constexpr milliseconds kGraceOfServers{5000};
constexpr size_t kLinesShown = 20;
// Without --stall_timeout: when a table of where everyone stands is shown, without an end.
constexpr double kStallWarning = 300;

double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

// Blocks the signals that end a job and hands them out as reads.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    signal(SIGPIPE, SIG_IGN);  // a closed terminal must not end the launcher before its children
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<int> next() const {
    signalfd_siginfo info = {};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_ = {};
  Fd fd_;
};

// A process of the job, through all its attempts.
struct Running {
  const Process* process = nullptr;
  std::optional<Child> child = {};
  Clock::time_point started = {};
  int64_t log_begin = 0;  // of this attempt
  Outcome outcome = {};

  bool server() const { return process->role == "server"; }
};

class Run {
 public:
  Run(const JobOptions& options, Job job) : options_(options), job_(std::move(job)) {
    for (const Process& process : job_.processes) running_.push_back({.process = &process});
  }

  int run() {
    announce();
    start_all();
    while (anyone_runs() || restart_at_) wait_once();
    mirror_.drain();
    return close();
  }

 private:
  void announce() const;
  void start_all();
  void start(Running& running);
  Variables shown_of(const Process& process) const;
  std::vector<std::string> environment_of(const Running& running) const;

  void wait_once();
  int patience() const;
  void on_signal(int signal);
  void on_end(Running& running);
  void check_stall();

  void fail(Running& running);
  bool may_restart(const Running& running);
  void begin_end(const std::string& reason, int signal, milliseconds grace);
  void signal_all(int signal);
  int close();

  bool anyone_runs() const {
    return std::any_of(running_.begin(), running_.end(),
                       [](const Running& r) { return r.child.has_value(); });
  }
  bool workers_done() const {
    return std::all_of(running_.begin(), running_.end(),
                       [](const Running& r) { return r.server() || !r.child; });
  }
  void say(std::string_view text) const {
    if (!options_.quiet) write_out(STDERR_FILENO, text);
  }

  const JobOptions& options_;
  const Job job_;
  Guardian guardian_;  // before the store, which starts threads
  Signals signals_;
  Mirror mirror_;
  const std::string token_ = rpc::new_token();
  std::atomic<int64_t> last_progress_ = 0;  // milliseconds since began_; 0: none
  std::optional<rpc::StoreServer> store_;
  std::deque<Running> running_;
  const Clock::time_point began_ = Clock::now();

  std::optional<Outcome> culprit_;
  std::vector<rpc::Member> standing_;  // when it failed
  int interrupted_ = 0;                // the signal that ended the job; 0: none
  bool ending_ = false;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> restart_at_;  // of the whole group
  bool group_restarts_ = false;                  // as soon as all have ended
  int64_t restarts_ = 0;
};

void Run::announce() const {
  if (options_.quiet) return;
  if (options_.print_config) write_out(STDOUT_FILENO, configuration_block(options_));
  if (job_.mode == Mode::kServers) {
    std::string said;
    for (const std::string& option : options_.server_options_said) {
      said += fmt::format("{}'{}'", said.empty() ? "" : ", ", option);
    }
    say(log_line("INFO", fmt::format("Run parameter-sever mode. pserver arguments:[{}], cuda "
                                     "count:{}",
                                     said, job_.gpu_count)));
  } else {
    const std::string how = job_.gpu_count > 0 ? "compiled with cuda" : "not compiled with cuda";
    if (options_.collective_options_said.empty() && !options_.run_mode) {
      say(log_line("WARNING", fmt::format("Not found distinct arguments and {}. Default use "
                                          "collective mode",
                                          how)));
    }
    write_out(STDOUT_FILENO, fmt::format("launch train in {} mode\n", job_.gpus ? "GPU" : "CPU"));
  }
  for (const std::string& notice : job_.notices) say(log_line("WARNING", notice));
}

void Run::start_all() {
  store_.emplace(rpc::StoreServer::Options{
      .token = token_, .on_event = [this](rpc::StoreServer::Happening what, const rpc::Member&) {
        if (what != rpc::StoreServer::Happening::kProgress) return;
        const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
        last_progress_ = std::max<int64_t>(1, passed.count());
      }});
  std::string shown;
  for (Running& running : running_) {
    start(running);
    const std::string& role = running.process->role;
    if (options_.quiet || running.outcome.attempt > 0 || role == shown) continue;
    shown = role;
    const auto count = std::count_if(job_.processes.begin(), job_.processes.end(),
                                     [&](const Process& p) { return p.role == role; });
    say(log_line("INFO", fmt::format("Local {}start {} processes. First process distributed "
                                     "environment info (Only For Debug): \n{}",
                                     job_.mode == Mode::kServers ? role + " " : "", count,
                                     environment_table(shown_of(*running.process)))));
  }
  if (job_.mode == Mode::kServers && !options_.quiet && restarts_ == 0) {
    say(log_line("INFO", fmt::format("Please check servers, workers and heter_worker logs in "
                                     "{0}/workerlog.*, {0}/serverlog.* and {0}/heterlog.*",
                                     job_.log_dir)));
  }
}

void Run::start(Running& running) {
  const Process& process = *running.process;
  Outcome& outcome = running.outcome;
  outcome = {
      .role = process.role, .rank = process.rank, .host = process.host, .attempt = outcome.attempt};
  const std::string name =
      outcome.attempt == 0 ? process.log : fmt::format("{}.{}", process.log, outcome.attempt);
  const fs::path log = fs::path(job_.log_dir) / name;
  // Collective runs go on in the log of the last one, as they always did.
  const Fd output = open_log(log, job_.mode == Mode::kCollective);
  std::error_code ignored;
  running.log_begin = static_cast<int64_t>(fs::file_size(log, ignored));
  outcome.log = log;
  const bool first = process.role == "worker" && process.local == 0;
  if (first || options_.tee) {
    const bool alone = first && !options_.tee;
    mirror_.follow(log, running.log_begin, alone ? "" : fmt::format("[{}] ", outcome.name()));
  }
  running.started = Clock::now();
  running.child.emplace(Command{.words = process.command,
                                .environment = environment_of(running),
                                .output = output.get(),
                                .keep = process.listener.socket.get()});
  outcome.pid = running.child->pid();
  guardian_.guard(running.child->pid());
}

// What the documents' tables show of a process.
Variables Run::shown_of(const Process& process) const {
  Variables shown = process.shown;
  if (job_.mode == Mode::kCollective) return shown;
  // Real Paddle's processes meet through these; ours through the store, and no folder is made.
  const fs::path folder = fs::temp_directory_path() / ("flotilla-" + token_.substr(0, 8));
  shown.insert(shown.end(), {{"PADDLE_WITH_GLOO", "0"},
                             {"PADDLE_GLOO_RENDEZVOUS", "3"},
                             {"PADDLE_GLOO_FS_PATH", folder},
                             {"PADDLE_GLOO_HTTP_ENDPOINT", store_->address()}});
  return shown;
}

std::vector<std::string> Run::environment_of(const Running& running) const {
  const Process& process = *running.process;
  Variables added = shown_of(process);
  added.insert(added.end(), process.hidden.begin(), process.hidden.end());
  added.insert(added.end(), {{"FLT_STORE", store_->address()},
                             {"FLT_JOB_TOKEN", token_},
                             {"FLT_ROLE", process.role},
                             {"FLT_RANK", fmt::to_string(process.rank)},
                             {"FLT_ATTEMPT", fmt::to_string(running.outcome.attempt)},
                             {"FLT_LISTEN_FD", fmt::to_string(process.listener.socket.get())}});
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const auto& variable) { return variable.first == name; });
    // A proxy would stand between the processes of a job.
    if (!replaced && name != "http_proxy" && name != "https_proxy") all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// Milliseconds until something must be done without being asked; -1: nothing.
int Run::patience() const {
  std::optional<Clock::time_point> next = kill_at_;
  if (restart_at_ && (!next || *restart_at_ < *next)) next = restart_at_;
  constexpr int kStallCheck = 1000;
  const int regular = last_progress_ > 0 ? kStallCheck : -1;
  if (!next) return regular;
  const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kStallCheck));
}

void Run::wait_once() {
  std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}, {mirror_.fd(), POLLIN, 0}};
  std::vector<Running*> owners;
  for (Running& running : running_) {
    if (!running.child) continue;
    fds.push_back({running.child->pidfd(), POLLIN, 0});
    owners.push_back(&running);
  }
  if (::poll(fds.data(), fds.size(), patience()) < 0) return;
  if (fds[1].revents != 0) mirror_.pump();
  while (const std::optional<int> signal = signals_.next()) on_signal(*signal);
  for (size_t i = 0; i < owners.size(); ++i) {
    if (fds[i + 2].revents != 0) on_end(*owners[i]);
  }
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    signal_all(SIGKILL);
  }
  if (restart_at_ && Clock::now() >= *restart_at_) {
    restart_at_.reset();
    start_all();
  }
  check_stall();
}

void Run::on_signal(int signal) {
  const bool again = interrupted_ != 0;
  interrupted_ = signal;
  restart_at_.reset();
  group_restarts_ = false;
  if (again) return signal_all(SIGKILL);
  say(log_line(
      "INFO", fmt::format("{} was received: the job ends. Once more kills it", strsignal(signal))));
  begin_end(fmt::format("the job was interrupted ({})", strsignal(signal)), signal,
            kGraceAfterInterrupt);
}

void Run::on_end(Running& running) {
  Outcome& outcome = running.outcome;
  outcome.ending = running.child->wait();
  guardian_.forget(running.child->pid());
  running.child.reset();
  outcome.ended = true;
  outcome.seconds = seconds_since(running.started);
  if (!outcome.ending.ok() && !ending_) fail(running);
  if (!ending_ && workers_done() && anyone_runs()) {
    say(log_line("INFO", "all workers exit, going to finish parameter server and heter_worker."));
    begin_end("all workers have left", SIGTERM, kGraceOfServers);
  }
  if (group_restarts_ && !anyone_runs()) {
    group_restarts_ = ending_ = false;
    kill_at_.reset();
    culprit_.reset();
    for (Running& each : running_) ++each.outcome.attempt;
    const double pause = std::min(10.0, 0.25 * std::pow(2.0, static_cast<double>(restarts_ - 1)));
    restart_at_ = Clock::now() + milliseconds(static_cast<int64_t>(pause * 1000));
  }
}

// In a job with servers only what failed is started again; the ranks of a collective job cannot go
// on without each other.
bool Run::may_restart(const Running& running) {
  if (restarts_ >= options_.max_restart) return false;
  ++restarts_;
  say(log_line("WARNING", fmt::format("{}; restart {} of {}", sentence_of(running.outcome),
                                      restarts_, options_.max_restart)));
  return true;
}

void Run::fail(Running& running) {
  mirror_.pump();
  running.outcome.last_lines = last_lines(running.outcome.log, running.log_begin, kLinesShown);
  if (may_restart(running)) {
    if (job_.mode == Mode::kServers) {
      ++running.outcome.attempt;
      return start(running);
    }
    group_restarts_ = true;
  }
  culprit_ = running.outcome;
  standing_ = store_->members();
  begin_end(sentence_of(running.outcome), SIGTERM, kGraceAfterFailure);
}

void Run::begin_end(const std::string& reason, int signal, milliseconds grace) {
  ending_ = true;
  store_->stop(reason);
  signal_all(signal);
  kill_at_ = Clock::now() + grace;
}

void Run::signal_all(int signal) {
  for (const Running& running : running_) {
    if (!running.child) continue;
    running.child->send(signal);
    running.child->send(SIGCONT);  // one that is stopped hears nothing before
  }
}

void Run::check_stall() {
  const int64_t last = last_progress_;
  if (last == 0 || ending_) return;
  const double silent = seconds_since(began_ + milliseconds(last));
  const double limit = options_.stall_timeout > 0 ? options_.stall_timeout : kStallWarning;
  if (silent < limit) return;
  say(log_line("WARNING", fmt::format("nothing has moved for {:.0f} s; this is where everyone "
                                      "stands:\n{}",
                                      silent, standing_table(store_->members()))));
  last_progress_ =
      std::max<int64_t>(1, std::chrono::duration_cast<milliseconds>(Clock::now() - began_).count());
  if (options_.stall_timeout <= 0) return;
  interrupted_ = SIGALRM;
  begin_end(fmt::format("nothing had moved for {:.0f} s", silent), SIGTERM, kGraceAfterFailure);
}

int Run::close() {
  int code = 0;
  if (culprit_) {
    write_out(STDERR_FILENO, failure_block(*culprit_, standing_));
    code = culprit_->ending.shell_code();
  } else if (interrupted_ != 0) {
    code = 128 + interrupted_;
  } else if (job_.mode == Mode::kServers) {
    say(log_line("INFO", "all parameter server are killed"));
  } else {
    say(log_line("INFO", "Local processes completed."));
  }
  if (options_.json) {
    std::vector<Outcome> outcomes;
    for (const Running& running : running_) outcomes.push_back(running.outcome);
    write_out(STDOUT_FILENO,
              json_line(code, culprit_ ? &*culprit_ : nullptr, outcomes, seconds_since(began_)));
  }
  return code;
}

}  // namespace

int run(const JobOptions& options, const Machine& machine) {
  return Run(options, plan_job(options, machine)).run();
}

}  // namespace flotilla::launch
