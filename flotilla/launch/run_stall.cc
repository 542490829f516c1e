// What does not move: found, shown as a table of where everyone stands, and ended where
// --stall_timeout asks for it.

#include <fmt/format.h>

#include "flotilla/launch/print.h"
#include "flotilla/launch/run_state.h"

namespace flotilla::launch {
namespace {

// How long a process must do the same for the table to say how long.
constexpr double kWorthMentioning = 1;

std::string doing_of(const Members::Seen& seen) {
  const std::string& said = seen.member.last.doing;
  std::string text = said.empty() ? "in the script's own code" : said;
  const double seconds = seen.doing_for(Clock::now());
  if (seconds >= kWorthMentioning) text += fmt::format(", for {:.0f} s", seconds);
  return text;
}

}  // namespace

struct Run::Stuck {
  Outcome culprit = {};  // with no role where all wait for each other
  std::string sentence = {};
};

double Run::stall_limit() const {
  const double end = options_.stall_timeout, warning = options_.stall_warning;
  return end > 0 && warning > 0 ? std::min(end, warning) : std::max(end, warning);
}

Running* Run::find(const std::string& name) {
  for (Running& running : running_) {
    if (running.outcome.name() == name && running.child) return &running;
  }
  return nullptr;
}

std::vector<Standing> Run::standing(const std::string& without) {
  std::vector<Standing> rows;
  std::vector<std::string> told = {without};
  for (const Members::Seen& seen : members_.all()) {
    if (!seen.here || seen.name() == without) continue;
    const Running* local = find(seen.name());
    const bool stopped = local != nullptr && local->child->stopped();
    const bool reported = seen.member.reported != Clock::time_point();
    std::string doing = reported ? doing_of(seen) : "joined the job";
    if (stopped) doing = "stopped by a signal; before, " + doing;
    rows.push_back({.name = seen.name(), .host = seen.member.host, .doing = std::move(doing)});
    if (reported) rows.back().step = seen.member.last.step;
    told.push_back(seen.name());
  }
  bool worth_telling = !rows.empty();
  for (const Running& running : running_) {
    const std::string name = running.outcome.name();
    if (!running.child || std::find(told.begin(), told.end(), name) != told.end()) continue;
    const bool stopped = running.child->stopped();
    worth_telling = worth_telling || stopped;
    rows.push_back({.name = name,
                    .host = running.process->host,
                    .doing = stopped ? "stopped by a signal" : "has not joined the job"});
  }
  return worth_telling ? rows : std::vector<Standing>();
}

std::string Run::status() {
  std::string text = fmt::format(
      "job {} (launcher {}): {} {}, running for {:.0f} s, restarts: {}\n", options_.job_id,
      getpid(), job_.mode == Mode::kServers ? "parameter servers" : "collective", options_.script,
      seconds_since(began_), restarts_);
  text += standing_table(standing(""));
  for (size_t i = 0; store_ && i < job_.endpoints.servers.size(); ++i) {
    const std::optional<std::string> place = store_->find(fmt::format("ps/status/{}", i));
    if (place) text += fmt::format("status {} {}\n", i, *place);
  }
  return text;
}

std::optional<Run::Stuck> Run::find_stuck(double limit) {
  const auto stopped = [](const Running& running) {
    Stuck found{.culprit = running.outcome};
    found.culprit.stuck =
        fmt::format("has been stopped by a signal for {:.0f} s", seconds_since(*running.stopped));
    found.sentence = sentence_of(found.culprit);
    return found;
  };
  for (Running& running : running_) {
    if (!running.child || !running.child->stopped()) {
      running.stopped.reset();
      continue;
    }
    if (!running.stopped) running.stopped = Clock::now();
    const double seconds = seconds_since(*running.stopped);
    if (seconds >= limit) return stopped(running);
  }
  const std::vector<Members::Seen> still = stuck(members_.all(), Clock::now(), limit);
  if (still.empty()) return std::nullopt;
  if (still.front().member.last.for_others) {
    return Stuck{.sentence = fmt::format(
                     "nothing has moved for {:.0f} s: all workers wait for each other", limit)};
  }
  const Members::Seen& first = still.front();
  const Running* local = find(first.name());
  Stuck found{.culprit = {.role = first.member.role,
                          .rank = first.member.rank,
                          .host = first.member.host,
                          .pid = first.member.pid,
                          .attempt = first.member.attempt}};
  if (local != nullptr && local->stopped) return stopped(*local);
  if (local != nullptr) found.culprit = local->outcome;
  found.culprit.stuck =
      fmt::format("has not moved for {:.0f} s (step {}, {})", seconds_since(first.moved),
                  first.member.last.step, doing_of(first));
  found.sentence = sentence_of(found.culprit);
  return found;
}

void Run::check_stall() {
  const double limit = stall_limit();
  if (ending_ || limit == 0 || seconds_since(looked_) < limit / 8) return;
  looked_ = Clock::now();
  const double end = options_.stall_timeout, warning = options_.stall_warning;
  if (end > 0) {
    if (const std::optional<Stuck> found = find_stuck(end)) return end_stuck(*found);
  }
  if (warning == 0 || seconds_since(warned_) < warning) return;
  if (const std::optional<Stuck> found = find_stuck(warning)) {
    warned_ = Clock::now();
    say(log_line("WARNING", found->sentence + "; this is where everyone stands:") +
        standing_table(standing("")));
  }
}

void Run::end_stuck(const Stuck& found) {
  standing_ = standing(found.culprit.name());
  if (found.culprit.role.empty()) {
    stalled_ = found.sentence;
    return begin_end(stalled_, SIGTERM, kGraceAfterFailure);
  }
  if (Running* local = find(found.culprit.name())) {
    // Its end is then a failure like any other, with the same ways to go on.
    local->outcome.stuck = found.culprit.stuck;
    return local->child->send(SIGKILL);
  }
  culprit_ = found.culprit;
  if (link_) link_->report_failure(*culprit_);
  begin_end(found.sentence, SIGTERM, kGraceAfterFailure);
}

}  // namespace flotilla::launch
