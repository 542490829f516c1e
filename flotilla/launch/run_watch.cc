#include <fmt/format.h>
#include <poll.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "flotilla/launch/print.h"
#include "flotilla/launch/run_report.h"
#include "flotilla/launch/run_state.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLinesShown = 20;

}  // namespace

// Milliseconds until something must be done without being asked.
int Run::patience() const {
  std::optional<Clock::time_point> next = kill_at_;
  const auto sooner = [&next](const std::optional<Clock::time_point>& other) {
    if (other && (!next || *other < *next)) next = other;
  };
  sooner(restart_at_);
  sooner(mirror_.due());
  for (const Running& running : running_) sooner(running.restart_at);
  if (meeting_ == Meeting::kConnecting) return 0;  // connect() itself waits a little
  // Often enough to look for what does not move.
  const double limit = stall_limit() > 0 ? stall_limit() : 1;
  const int64_t regular = std::clamp<int64_t>(std::llround(limit * 250), 20, 1000);
  if (!next) return static_cast<int>(regular);
  const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, regular));
}

void Run::wait_once() {
  std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0},
                             {mirror_.fd(), POLLIN, 0},
                             {status_socket_.fd(), POLLIN, 0},
                             {outlet_.fd(), POLLIN, 0}};
  const size_t others = fds.size();
  std::vector<Running*> owners;
  for (Running& running : running_) {
    if (!running.child) continue;
    fds.push_back({running.child->pidfd(), POLLIN, 0});
    owners.push_back(&running);
  }
  if (link_) fds.push_back({link_->fd(), POLLIN, 0});
  const size_t parent = fds.size();
  if (parent_) fds.push_back({parent_.get(), POLLIN, 0});
  if (::poll(fds.data(), fds.size(), patience()) < 0) return;
  if (fds[3].revents != 0) outlet_.clear_fd();
  const std::optional<Clock::time_point> due = mirror_.due();
  if (fds[1].revents != 0 || fds[3].revents != 0 || (due && Clock::now() >= *due)) {
    mirror_.pump(outlet_);
  }
  if (fds[2].revents != 0) status_socket_.answer([this] { return status(); });
  while (const std::optional<int> signal = signals_.next()) on_signal(*signal);
  if (parent < fds.size() && fds[parent].revents != 0) on_parent_gone();
  std::vector<Running*> ended;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (fds[i + others].revents == 0) continue;
    reap(*owners[i]);
    ended.push_back(owners[i]);
  }
  // Of several that ended meanwhile, one that was killed did not fail for what others did.
  std::stable_sort(ended.begin(), ended.end(), [](const Running* a, const Running* b) {
    const auto innocence = [](const Ending& e) { return e.ok() ? 2 : e.signal == 0 ? 1 : 0; };
    return innocence(a->outcome.ending) < innocence(b->outcome.ending);
  });
  for (Running* one : ended) on_end(*one);
  if (group_restarts_ && !anyone_runs()) restart_group();
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    signal_all(SIGKILL);
  }
  for (Running& running : running_) {
    if (running.restart_at && Clock::now() >= *running.restart_at) start(running);
  }
  if (restart_at_ && Clock::now() >= *restart_at_) {
    restart_at_.reset();
    members_.clear();
    stock_.clear();
    begin();  // with another store: the old one says that the job has stopped
  }
  if (link_) on_link();
  check_stall();
}

bool Run::asked_to_end() const {
  pollfd fds[] = {{signals_.fd(), POLLIN, 0}, {parent_ ? parent_.get() : -1, POLLIN, 0}};
  return ::poll(fds, std::size(fds), 0) > 0;
}

void Run::on_signal(int signal) {
  const bool again = interrupted_ != 0;
  interrupted_ = signal;
  restart_at_.reset();
  group_restarts_ = false;
  if (again) return signal_all(SIGKILL);
  say(log_line(
      "INFO", fmt::format("{} was received: the job ends. Once more kills it", strsignal(signal))));
  if (link_ && meeting_ == Meeting::kTogether) {
    link_->report_failure({.role = "launcher",
                           .rank = job_.host,
                           .host = job_.hosts[static_cast<size_t>(job_.host)],
                           .pid = getpid(),
                           .ending = {.signal = signal}});
    take_stock();
  }
  begin_end(fmt::format("the job was interrupted ({})", strsignal(signal)), signal,
            kGraceAfterInterrupt);
}

// Nobody is left to press Ctrl-C twice.
void Run::on_parent_gone() {
  parent_.reset();
  interrupted_ = SIGTERM;
  begin_end("the process that started the job is gone", SIGTERM, kGraceAfterFailure);
}

void Run::reap(Running& running) {
  Outcome& outcome = running.outcome;
  outcome.ending = running.child->wait();
  guardian_.forget(running.child->pid());
  running.child.reset();
  outcome.ended = true;
  outcome.seconds = seconds_since(running.started);
  tell(event_line("ended", outcome));
}

void Run::on_end(Running& running) {
  if (!running.outcome.ending.ok() && !ending_) fail(running);
  if (!link_ && !ending_ && workers_done() && anyone_runs()) finish_servers();
}

void Run::restart_group() {
  group_restarts_ = ending_ = said_workers_done_ = said_done_ = false;
  kill_at_.reset();
  culprit_.reset();
  link_.reset();
  stalls_ = 0;
  stall_heard_.reset();
  for (Running& each : running_) ++each.outcome.attempt;
  restart_at_ = Clock::now() + pause_after(restarts_);
}

// Servers may be done before they are told.
void Run::say_workers_exit() {
  if (std::exchange(said_workers_exit_, true)) return;
  say(log_line("INFO", "all workers exit, going to finish parameter server and heter_worker."));
}

void Run::finish_servers() {
  say_workers_exit();
  const std::vector<Members::Seen> seen = members_.all();
  const bool tables = std::any_of(seen.begin(), seen.end(),
                                  [](const Members::Seen& s) { return s.here && !s.worker(); });
  begin_end("", SIGTERM, tables ? kGraceOfTables : kGraceOfServers);
}

// In a job with servers only what failed is started again; the ranks of a collective job cannot go
// on without each other.
bool Run::may_restart(const Outcome& failed) {
  // What ended by itself would do so again; what was killed may have been in the way of others.
  const bool killed = failed.role == "server" && failed.ending.signal != 0 && failed.stuck.empty();
  const int64_t limit = options_.max_restart.value_or(killed ? kServerRestarts : 0);
  if (restarts_ >= limit) return false;
  ++restarts_;
  say(log_line("WARNING",
               fmt::format("{}; restart {} of {}", sentence_of(failed), restarts_, limit)));
  return true;
}

void Run::restart_alone(Running& running) {
  ++running.outcome.attempt;
  stock_.clear();
  running.restart_at = running.started + running.pause.next(Clock::now() - running.started);
}

void Run::fail(Running& running) {
  mirror_.pump(outlet_);
  running.outcome.last_lines = last_lines(running.outcome.log, running.log_begin, kLinesShown);
  if (disk_is_full(running.outcome.log)) {
    running.outcome.last_lines.push_back(
        fmt::format("[the disk of {} is full: what the process printed last could not be written, "
                    "which may be why it failed. Free some space, or choose another --log_dir]",
                    running.outcome.log));
  }
  if (may_restart(running.outcome)) {
    if (job_.mode == Mode::kServers) return restart_alone(running);
    group_restarts_ = true;
  } else if (job_.mode == Mode::kServers && !running.server() &&
             options_.worker_failure == "continue") {
    say(log_line("WARNING", fmt::format("{}; the others go on", sentence_of(running.outcome))));
    if (!missed_) missed_ = running.outcome;
    return;
  }
  culprit_ = link_ ? link_->report_failure(running.outcome) : running.outcome;
  take_stock();
  begin_end(sentence_of(*culprit_), SIGTERM, kGraceAfterFailure);
}

void Run::begin_end(const std::string& reason, int signal, milliseconds grace) {
  ending_ = true;
  tell("{\"event\":\"ending\"}\n");
  for (Running& running : running_) running.restart_at.reset();
  if (store_ && !reason.empty()) store_->stop(reason);
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

std::string Run::say_report() {
  const double launcher = std::chrono::duration<double>(running_.front().started - began_).count();
  const RunReport report = make_report(members_.all(), launcher);
  const bool explained = culprit_ || !stalled_.empty() || !lost_.empty();
  if (const std::string text = text_of(report); !text.empty() && !explained) {
    say(log_line("INFO", "where the time went:") + text);
  }
  if (!report.warning.empty()) {
    outlet_.write(STDERR_FILENO, log_line("WARNING", report.warning));
  }
  return json_of(report);
}

int Run::close() {
  const std::string report = say_report();
  int code = 0;
  if (!culprit_) culprit_ = missed_;
  const std::vector<Standing> others = together(stock_, culprit_ ? culprit_->name() : "");
  if (culprit_) {
    // Whoever asked for events explains it.
    if (options_.events_fd < 0) outlet_.write(STDERR_FILENO, failure_block(*culprit_, others));
    code = culprit_->job_code();
  } else if (!stalled_.empty()) {
    outlet_.write(STDERR_FILENO, fmt::format("fleetrun: {}\n{}", stalled_, standing_table(others)));
    code = Outcome{.stuck = stalled_}.job_code();
  } else if (interrupted_ != 0) {
    code = 128 + interrupted_;
  } else if (!lost_.empty()) {
    outlet_.write(STDERR_FILENO, fmt::format("fleetrun: {}\n{}", lost_, standing_table(others)));
    code = 1;
  } else if (job_.mode == Mode::kServers) {
    say_workers_exit();
    say(log_line("INFO", "all parameter server are killed"));
  } else {
    say(log_line("INFO", "Local processes completed."));
  }
  std::vector<Outcome> outcomes;
  for (const Running& running : running_) outcomes.push_back(running.outcome);
  const std::string result =
      json_line(code, culprit_ ? &*culprit_ : nullptr, outcomes, seconds_since(began_), report);
  if (options_.json) outlet_.write(STDOUT_FILENO, result);
  tell(fmt::format("{{\"event\":\"done\",\"result\":{}}}\n",
                   std::string_view(result).substr(0, result.size() - 1)));
  outlet_.finish();
  return code;
}

void Run::tell(std::string_view event) {
  if (options_.events_fd >= 0) outlet_.write(static_cast<int>(options_.events_fd), event);
}

}  // namespace flotilla::launch
