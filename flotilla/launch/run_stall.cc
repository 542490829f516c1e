// What does not move: found, shown as a table of where everyone stands, and ended where
// --stall_timeout asks for it.

#include <fmt/format.h>

#include <algorithm>

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

std::vector<Standing> Run::standing() {
  std::vector<Standing> rows;
  const std::vector<Members::Seen> members = members_.all();
  for (const Members::Seen& seen : members) {
    if (!seen.here) continue;
    const bool reported = seen.member.reported != Clock::time_point();
    rows.push_back({.role = seen.member.role,
                    .rank = seen.member.rank,
                    .host = seen.member.host,
                    .doing = reported ? doing_of(seen) : "joined the job"});
    if (reported) rows.back().step = seen.member.last.step;
  }
  for (const Running& running : running_) {
    const bool done = !running.runs() && running.outcome.ended && running.outcome.ending.ok();
    if (!running.child && !done) continue;
    const auto left = std::find_if(members.begin(), members.end(), [&](const Members::Seen& seen) {
      return !seen.here && seen.member.role == running.process->role &&
             seen.member.rank == running.process->rank &&
             seen.member.attempt == running.outcome.attempt;
    });
    rows.push_back({.role = running.process->role,
                    .rank = running.process->rank,
                    .host = running.process->host,
                    .doing = done                    ? std::string(kHadEnded)
                             : left != members.end() ? "has left the job"
                                                     : "",
                    .stopped = running.child && running.child->stopped()});
    if (done && left != members.end()) rows.back().step = left->member.last.step;
  }
  return rows;
}

std::string Run::status() {
  std::string text = fmt::format(
      "job {} (launcher {}): {} {}, running for {:.0f} s, restarts: {}\n", options_.job_id,
      getpid(), job_.mode == Mode::kServers ? "parameter servers" : "collective", options_.script,
      seconds_since(began_), restarts_);
  text += standing_table(together({standing()}, ""));
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
  if (ending_ || meeting_ != Meeting::kTogether || limit == 0 || seconds_since(looked_) < limit / 8)
    return;
  looked_ = Clock::now();
  const double end = options_.stall_timeout, warning = options_.stall_warning;
  if (end > 0) {
    if (const std::optional<Stuck> found = find_stuck(end)) return end_stuck(*found);
  }
  if (warning == 0 || seconds_since(warned_) < warning) return;
  if (const std::optional<Stuck> found = find_stuck(warning)) {
    warned_ = Clock::now();
    if (link_) return link_->report_stall(stalls_, found->sentence);
    warn_of_stall(found->sentence, {standing()});
  }
}

void Run::warn_of_stall(const std::string& sentence,
                        const std::vector<std::vector<Standing>>& parts) {
  say(log_line("WARNING", sentence + "; this is where everyone stands:") +
      standing_table(together(parts, "")));
}

void Run::end_stuck(const Stuck& found) {
  if (found.culprit.role.empty()) {
    stalled_ = found.sentence;
    if (link_) link_->report_failure({.stuck = stalled_});
    take_stock();
    return begin_end(stalled_, SIGTERM, kGraceAfterFailure);
  }
  stock_ = {standing()};
  if (Running* local = find(found.culprit.name())) {
    // Its end is then a failure like any other, with the same ways to go on.
    local->outcome.stuck = found.culprit.stuck;
    return local->child->send(SIGKILL);
  }
  culprit_ = link_ ? link_->report_failure(found.culprit) : found.culprit;
  take_stock();
  begin_end(found.sentence, SIGTERM, kGraceAfterFailure);
}

}  // namespace flotilla::launch
