// Failures, stalls and ends of a job.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "flotilla/launch/print.h"
#include "flotilla/launch/run_loop.h"
#include "flotilla/launch/run_report.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLinesShown = 20;

// Where the time went, as JSON; people are told too, unless they are told why the job failed.
std::string say_report(const RunReport& report, bool explained, Voice& voice) {
  if (const std::string text = text_of(report); !text.empty() && !explained) {
    voice.say(log_line("INFO", "where the time went:") + text);
  }
  if (!report.warning.empty()) voice.explain(log_line("WARNING", report.warning));
  return json_of(report);
}

}  // namespace

void Run::check_stall() {
  if (ending_ || !hosts_.is_together() || !watch_.due()) return;
  if (const std::optional<Stuck> found = watch_.find_to_end()) return end_stuck(*found);
  const std::optional<Stuck> found = watch_.find_to_warn_of();
  if (!found) return;
  if (hosts_.has_link()) return hosts_.report_stall(found->sentence);
  voice_.say(stall_warning(found->sentence, {watch_.standing()}));
}

void Run::end_stuck(const Stuck& found) {
  if (found.culprit.role.empty()) {
    end_.stalled = found.sentence;
    if (hosts_.has_link()) hosts_.link().report_failure({.stuck = end_.stalled});
    take_stock();
    return begin_end(end_.stalled, SIGTERM, kGraceAfterFailure);
  }
  end_.stock = {watch_.standing()};
  if (Running* local = processes_.find(found.culprit.name())) {
    // Its end is then a failure like any other, with the same ways to go on.
    local->outcome.stuck = found.culprit.stuck;
    return local->child->send(SIGKILL);
  }
  end_.culprit = hosts_.has_link() ? hosts_.link().report_failure(found.culprit) : found.culprit;
  take_stock();
  begin_end(found.sentence, SIGTERM, kGraceAfterFailure);
}

bool Run::may_restart(const Outcome& failed) {
  const std::optional<std::string> sentence = restarts_.allow(failed);
  if (sentence) voice_.say(log_line("WARNING", *sentence));
  return sentence.has_value();
}

void Run::fail(Running& running) {
  voice_.show_more();
  running.outcome.last_lines = last_lines(running.outcome.log, running.log_begin, kLinesShown);
  if (disk_is_full(running.outcome.log)) {
    running.outcome.last_lines.push_back(
        fmt::format("[the disk of {} is full: what the process printed last could not be written, "
                    "which may be why it failed. Free some space, or choose another --log_dir]",
                    running.outcome.log));
  }
  if (may_restart(running.outcome)) {
    if (job_.mode == Mode::kServers) {
      ++running.outcome.attempt;
      end_.stock.clear();
      running.restart_at = running.started + running.pause.next(Clock::now() - running.started);
      return;
    }
    group_restarts_ = true;
  } else if (job_.mode == Mode::kServers && !running.server() &&
             options_.worker_failure == "continue") {
    voice_.say(
        log_line("WARNING", fmt::format("{}; the others continue", sentence_of(running.outcome))));
    if (!missed_) missed_ = running.outcome;
    return;
  }
  end_.culprit =
      hosts_.has_link() ? hosts_.link().report_failure(running.outcome) : running.outcome;
  take_stock();
  begin_end(sentence_of(*end_.culprit), SIGTERM, kGraceAfterFailure);
}

void Run::restart_group() {
  group_restarts_ = ending_ = false;
  kill_at_.reset();
  end_.culprit.reset();
  hosts_.forget();
  processes_.count_attempt();
  restart_at_ = Clock::now() + pause_after(restarts_.count());
}

void Run::take_stock() {
  if (end_.stock.empty()) end_.stock = {watch_.standing()};
  hosts_.say_last_standing(end_.stock[0]);
}

// Servers may be done before they are told.
void Run::say_workers_exit() {
  if (std::exchange(said_workers_exit_, true)) return;
  voice_.say(
      log_line("INFO", "all workers exit, going to finish parameter server and heter_worker."));
}

void Run::finish_servers() {
  say_workers_exit();
  const std::vector<Members::Seen> seen = store_.members().all();
  const bool tables = std::any_of(seen.begin(), seen.end(),
                                  [](const Members::Seen& s) { return s.here && !s.worker(); });
  begin_end("", SIGTERM, tables ? kGraceOfTables : kGraceOfServers);
}

void Run::begin_end(const std::string& reason, int signal, milliseconds grace) {
  ending_ = true;
  voice_.tell("{\"event\":\"ending\"}\n");
  processes_.cancel_restarts();
  if (!reason.empty()) store_.stop(reason);
  processes_.signal_all(signal);
  kill_at_ = Clock::now() + grace;
}

int Run::close() {
  const double launcher =
      std::chrono::duration<double>(processes_.all().front().started - began_).count();
  const std::string report =
      say_report(make_report(store_.members().all(), launcher), end_.explained(), voice_);
  if (!end_.culprit) end_.culprit = missed_;
  // Whoever asked for events explains what failed.
  if (!end_.culprit || !voice_.is_heard()) {
    if (const std::string text = end_.explanation(); !text.empty()) voice_.explain(text);
  }
  if (end_.well() && job_.mode == Mode::kServers) {
    say_workers_exit();
    voice_.say(log_line("INFO", "all parameter server are killed"));
  } else if (end_.well()) {
    voice_.say(log_line("INFO", "Local processes completed."));
  }
  const int code = end_.exit_code();
  const std::string result = json_line(code, end_.culprit ? &*end_.culprit : nullptr,
                                       processes_.outcomes(), seconds_since(began_), report);
  if (options_.json) voice_.print(result);
  voice_.tell(fmt::format("{{\"event\":\"done\",\"result\":{}}}\n",
                          std::string_view(result).substr(0, result.size() - 1)));
  voice_.finish();
  return code;
}

}  // namespace flotilla::launch
