#include "flotilla/launch/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/launch/print.h"

namespace flotilla::launch {
namespace {

// How long a process must do the same for the table to say how long.
constexpr double kWorthMentioning = 1;
// Only its own host knows that a process is stopped, and blames it after the limit. Until that has
// been heard everywhere, it may look as if all were waiting for each other: hosts look eight times
// within the limit, and processes report twice a second.
double before_nobody_is_to_blame(double limit) { return 1.5 * limit + 1; }

bool on_several_hosts(const std::vector<Members::Seen>& members) {
  return std::any_of(members.begin(), members.end(), [&](const Members::Seen& seen) {
    return seen.member.host != members.front().member.host;
  });
}

std::string doing_of(const Members::Seen& seen) {
  const std::string& said = seen.member.last.doing;
  std::string text = said.empty() ? "in the script's own code" : said;
  const double seconds = seen.doing_for(Clock::now());
  if (seconds >= kWorthMentioning) text += fmt::format(", for {:.0f} s", seconds);
  return text;
}

}  // namespace

std::string stall_warning(const std::string& sentence,
                          const std::vector<std::vector<Standing>>& parts) {
  return log_line("WARNING", sentence + "; the state of all processes:") +
         standing_table(together(parts, ""));
}

StallWatch::StallWatch(const JobOptions& options, const Members& members, Processes& processes)
    : end_(options.stall_timeout),
      warning_(options.stall_warning),
      members_(members),
      processes_(processes) {}

double StallWatch::limit() const {
  return end_ > 0 && warning_ > 0 ? std::min(end_, warning_) : std::max(end_, warning_);
}

bool StallWatch::due() {
  if (limit() == 0 || seconds_since(looked_) < limit() / 8) return false;
  looked_ = Clock::now();
  return true;
}

std::optional<Stuck> StallWatch::find_to_end() { return end_ > 0 ? find(end_) : std::nullopt; }

std::optional<Stuck> StallWatch::find_to_warn_of() {
  if (warning_ == 0 || seconds_since(warned_) < warning_) return std::nullopt;
  std::optional<Stuck> found = find(warning_);
  if (found) set_warned();
  return found;
}

std::vector<Standing> StallWatch::standing() const {
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
  for (const Running& running : processes_.all()) {
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
    if (left != members.end()) rows.back().step = left->member.last.step;
  }
  return rows;
}

std::optional<Stuck> StallWatch::find(double limit) {
  const auto stopped = [](const Running& running) {
    Stuck found{.culprit = running.outcome};
    found.culprit.stuck =
        fmt::format("has been stopped by a signal for {:.0f} s", seconds_since(*running.stopped));
    found.sentence = sentence_of(found.culprit);
    return found;
  };
  for (Running& running : processes_.all()) {
    if (!running.child || !running.child->stopped()) {
      running.stopped.reset();
      continue;
    }
    if (!running.stopped) running.stopped = Clock::now();
    const double seconds = seconds_since(*running.stopped);
    if (seconds >= limit) return stopped(running);
  }
  const std::vector<Members::Seen> members = members_.all();
  const std::vector<Members::Seen> still = stuck(members, Clock::now(), limit);
  if (still.empty()) return std::nullopt;
  if (still.front().member.last.for_others) {
    if (on_several_hosts(members) &&
        stuck(members, Clock::now(), before_nobody_is_to_blame(limit)).empty()) {
      return std::nullopt;
    }
    return Stuck{.sentence = fmt::format(
                     "no progress for {:.0f} s: all workers wait for each other", limit)};
  }
  const Members::Seen& first = still.front();
  const Running* local = processes_.find(first.name());
  Stuck found{.culprit = {.role = first.member.role,
                          .rank = first.member.rank,
                          .host = first.member.host,
                          .pid = first.member.pid,
                          .attempt = first.member.attempt}};
  if (local != nullptr && local->stopped) return stopped(*local);
  if (local != nullptr) found.culprit = local->outcome;
  found.culprit.stuck =
      fmt::format("has made no progress for {:.0f} s (step {}, {})", seconds_since(first.moved),
                  first.member.last.step, doing_of(first));
  found.sentence = sentence_of(found.culprit);
  return found;
}

}  // namespace flotilla::launch
