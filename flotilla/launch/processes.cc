#include "flotilla/launch/processes.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "flotilla/launch/print.h"

namespace flotilla::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kBeforeTheFirst{1000};

}  // namespace

Processes::Processes(const JobOptions& options, const Job& job, Guardian& guardian, Voice& voice)
    : options_(options), job_(job), guardian_(guardian), voice_(voice) {
  for (const Process& process : job_.processes) running_.push_back({.process = &process});
}

void Processes::start_all() {
  // Without logs the processes write to the same place, and what was said before stands before.
  if (job_.log_dir.empty()) voice_.settle(kBeforeTheFirst);
  std::string shown;
  for (Running& running : running_) {
    start(running);
    const std::string& role = running.process->role;
    if (options_.quiet || running.outcome.attempt > 0 || role == shown) continue;
    shown = role;
    const auto count = std::count_if(job_.processes.begin(), job_.processes.end(),
                                     [&](const Process& p) { return p.role == role; });
    voice_.say(log_line("INFO",
                        fmt::format("Local {}start {} processes. First process distributed "
                                    "environment info (Only For Debug): \n{}",
                                    job_.mode == Mode::kServers ? role + " " : "", count,
                                    environment_table(shown_of(job_, *running.process, around_)))));
  }
  if (job_.mode == Mode::kServers && !job_.log_dir.empty() &&
      running_.front().outcome.attempt == 0) {
    voice_.say(
        log_line("INFO", fmt::format("Please check servers, workers and heter_worker logs in "
                                     "{0}/workerlog.*, {0}/serverlog.* and {0}/heterlog.*",
                                     job_.log_dir)));
  }
}

void Processes::start(Running& running) {
  const Process& process = *running.process;
  Outcome& outcome = running.outcome;
  outcome = {
      .role = process.role, .rank = process.rank, .host = process.host, .attempt = outcome.attempt};
  const std::string name =
      outcome.attempt == 0 ? process.log : fmt::format("{}.{}", process.log, outcome.attempt);
  const Fd output = job_.log_dir.empty() ? Fd() : begin_log(running, name);
  running.started = Clock::now();
  running.stopped.reset();
  running.restart_at.reset();
  running.child.emplace(
      Command{.words = process.command,
              .environment = environment_of(job_, process, outcome.attempt, around_),
              .output = output.get(),
              .keep = process.listener.socket.get(),
              .cgroup = guardian_.cgroup()});
  outcome.pid = running.child->pid();
  guardian_.guard(running.child->pid());
  voice_.tell(event_line("started", outcome));
}

void Processes::start_due() {
  for (Running& running : running_) {
    if (running.restart_at && Clock::now() >= *running.restart_at) start(running);
  }
}

std::optional<Clock::time_point> Processes::next_restart() const {
  std::optional<Clock::time_point> next;
  for (const Running& running : running_) {
    if (running.restart_at && (!next || *running.restart_at < *next)) next = running.restart_at;
  }
  return next;
}

Fd Processes::begin_log(Running& running, const std::string& name) {
  const fs::path log = fs::path(job_.log_dir) / name;
  // Collective runs go on in the log of the last one, as they always did.
  Fd output = open_log(log, job_.mode == Mode::kCollective);
  std::error_code ignored;
  running.log_begin = static_cast<int64_t>(fs::file_size(log, ignored));
  running.outcome.log = log;
  const bool first = running.process->role == "worker" && running.process->local == 0;
  if (first || options_.tee) {
    const bool alone = first && !options_.tee;
    voice_.follow(log, running.log_begin,
                  alone ? "" : fmt::format("[{}] ", running.outcome.name()));
  }
  return output;
}

void Processes::reap(Running& running) {
  Outcome& outcome = running.outcome;
  outcome.ending = running.child->wait();
  guardian_.forget(running.child->pid());
  running.child.reset();
  outcome.ended = true;
  outcome.seconds = seconds_since(running.started);
  voice_.tell(event_line("ended", outcome));
}

void Processes::signal_all(int signal) const {
  for (const Running& running : running_) {
    if (!running.child) continue;
    running.child->send(signal);
    running.child->send(SIGCONT);  // one that is stopped hears nothing before
  }
}

void Processes::cancel_restarts() {
  for (Running& running : running_) running.restart_at.reset();
}

void Processes::count_attempt() {
  for (Running& running : running_) ++running.outcome.attempt;
}

bool Processes::anyone_runs() const {
  return std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.runs(); });
}

bool Processes::workers_done() const {
  return std::all_of(running_.begin(), running_.end(),
                     [](const Running& r) { return r.server() || !r.runs(); });
}

Running* Processes::find(const std::string& name) {
  for (Running& running : running_) {
    if (running.outcome.name() == name && running.child) return &running;
  }
  return nullptr;
}

std::vector<Outcome> Processes::outcomes() const {
  std::vector<Outcome> outcomes;
  for (const Running& running : running_) outcomes.push_back(running.outcome);
  return outcomes;
}

}  // namespace flotilla::launch
