#include "flotilla/launch/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "flotilla/launch/report.h"

namespace flotilla::launch {
namespace {

using Rank = RunReport::Rank;

enum Share : size_t { kCompute, kInput, kCommunication, kBarrier, kOther };

// A table of more ranks is not read; --json has them all.
constexpr size_t kMostRows = 16;

// Shorter runs say nothing about how time is spent.
constexpr double kEnoughSeconds = 1;

double find_or(const std::map<std::string, double>& map, const std::string& key, double otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

double first_step(const Members::Seen& seen) {
  return find_or(seen.member.last.reached, "first step", 0);
}

Rank rank_of(const Members::Seen& seen) {
  const rpc::Report& last = seen.member.last;
  Rank rank{.name = seen.name(), .steps = last.step};
  std::array<double, RunReport::kKinds.size()> spent = {};
  for (size_t i = 0; i < spent.size(); ++i)
    spent[i] = find_or(last.seconds, RunReport::kKinds[i], 0);
  const double told = std::accumulate(spent.begin(), spent.end(), 0.0);
  // What was spent in the first step lies before its end.
  rank.seconds = std::max(last.age - first_step(seen), told);
  if (rank.seconds <= 0) return rank;
  for (size_t i = 0; i < spent.size(); ++i) rank.share[i] = spent[i] / rank.seconds;
  rank.share[kOther] = 1 - told / rank.seconds;
  return rank;
}

std::vector<RunReport::Part> start_of(const Members::Seen& slowest, double launcher) {
  const auto& reached = slowest.member.last.reached;
  const double import = find_or(reached, "import", 0);
  const double join = std::max(import, find_or(reached, "join", import));
  return {{"launcher", launcher},
          {"process start to import", import},
          {"import to joining the job", join - import},
          {"to the end of the first step", first_step(slowest) - join}};
}

const Rank& most(const std::vector<Rank>& ranks, Share share) {
  return *std::max_element(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) {
    return a.share[share] < b.share[share];
  });
}

int percent(double share) { return static_cast<int>(share * 100 + 0.5); }

// The first of these that holds, from the one that costs most to none.
std::string verdict_of(const std::vector<Rank>& all, double start) {
  std::vector<Rank> ranks;
  for (const Rank& rank : all) {
    if (rank.seconds >= kEnoughSeconds) ranks.push_back(rank);
  }
  if (ranks.empty()) return "";
  const Rank& hungry = most(ranks, kInput);
  if (hungry.share[kInput] >= 0.2) {
    return fmt::format(
        "{} spends {} % of its time waiting for input: more DataLoader workers may help",
        hungry.name, percent(hungry.share[kInput]));
  }
  const auto waiting = [](const Rank& r) { return r.share[kCommunication] + r.share[kBarrier]; };
  const auto [least, longest] =
      std::minmax_element(ranks.begin(), ranks.end(),
                          [&](const Rank& a, const Rank& b) { return waiting(a) < waiting(b); });
  if (waiting(*longest) - waiting(*least) >= 0.2) {
    return fmt::format(
        "{} spends {} % of its time waiting for others, but {} only {} %: {} is slower than the "
        "others, or its batches are larger",
        longest->name, percent(waiting(*longest)), least->name, percent(waiting(*least)),
        least->name);
  }
  if (waiting(*least) >= 0.3) {
    return fmt::format(
        "the workers spend at least {} % of their time in communication: larger batches, or "
        "gradients merged over several steps, reduce it",
        percent(waiting(*least)));
  }
  const Rank& busy = most(ranks, kOther);
  if (busy.share[kOther] >= 0.5) {
    return fmt::format("{} spends {} % of its time between steps, in the script's own code",
                       busy.name, percent(busy.share[kOther]));
  }
  if (start > busy.seconds) {
    return fmt::format("{} % of the time passed before the first step",
                       percent(start / (start + busy.seconds)));
  }
  double computing = 1;
  for (const Rank& rank : ranks) computing = std::min(computing, rank.share[kCompute]);
  return fmt::format("the workers spend at least {} % of their time computing", percent(computing));
}

// Nobody starts several workers to get several models.
std::string warning_of(const std::vector<Members::Seen>& seen) {
  std::vector<std::string> alone;
  for (const Members::Seen& one : seen) {
    if (one.member.last.reached.contains("alone")) alone.push_back(one.name());
  }
  if (alone.empty()) return "";
  const size_t named = std::min(alone.size(), kMostRows);
  const std::string more =
      named < alone.size() ? fmt::format(" and {} more", alone.size() - named) : "";
  return fmt::format(
      "{}{} trained a model of {} own: {} exchanged nothing with the other workers. Call "
      "fleet.init(is_collective=True) and let fleet.distributed_optimizer(...) minimize the loss",
      fmt::join(alone.begin(), alone.begin() + static_cast<int64_t>(named), ", "), more,
      alone.size() == 1 ? "its" : "their", alone.size() == 1 ? "it" : "they");
}

}  // namespace

RunReport make_report(const std::vector<Members::Seen>& seen, double launcher) {
  RunReport report{.warning = warning_of(seen)};
  const Members::Seen* slowest = nullptr;
  for (const Members::Seen& one : seen) {
    if (!one.worker() || one.member.last.step <= 0) continue;
    report.ranks.push_back(rank_of(one));
    if (slowest == nullptr || first_step(one) > first_step(*slowest)) slowest = &one;
  }
  if (slowest == nullptr) return report;
  report.slowest = slowest->name();
  report.start = start_of(*slowest, launcher);
  report.verdict = verdict_of(report.ranks, first_step(*slowest) + launcher);
  return report;
}

std::string text_of(const RunReport& report) {
  if (report.ranks.empty()) return "";
  double all = 0;
  std::string parts;
  for (const RunReport::Part& part : report.start) {
    all += part.seconds;
    parts += fmt::format("{}{} {:.2f} s", parts.empty() ? "" : ", ", part.name, part.seconds);
  }
  std::string text =
      fmt::format("  first step after {:.2f} s ({}): {}\n", all, report.slowest, parts);
  text += fmt::format("  {:<16}{:>9}{:>10}{:>10}{:>8}{:>15}{:>9}{:>7}\n", "", "steps", "seconds",
                      "compute", "input", "communication", "barrier", "other");
  for (size_t i = 0; i < std::min(report.ranks.size(), kMostRows); ++i) {
    const Rank& rank = report.ranks[i];
    text += fmt::format("  {:<16}{:>9}{:>10.1f}{:>8} %{:>6} %{:>13} %{:>7} %{:>5} %\n", rank.name,
                        rank.steps, rank.seconds, percent(rank.share[kCompute]),
                        percent(rank.share[kInput]), percent(rank.share[kCommunication]),
                        percent(rank.share[kBarrier]), percent(rank.share[kOther]));
  }
  if (report.ranks.size() > kMostRows) {
    text += fmt::format("  and {} more\n", report.ranks.size() - kMostRows);
  }
  if (!report.verdict.empty()) text += fmt::format("  {}\n", report.verdict);
  return text;
}

std::string json_of(const RunReport& report) {
  if (report.ranks.empty()) return "null";
  std::string start;
  for (const RunReport::Part& part : report.start) {
    start += fmt::format("{}{}:{:.3f}", start.empty() ? "" : ",", in_quotes(part.name), part.seconds);
  }
  std::string ranks;
  for (const Rank& rank : report.ranks) {
    ranks += fmt::format("{}{{\"name\":{},\"steps\":{},\"seconds\":{:.3f}",
                         ranks.empty() ? "" : ",", in_quotes(rank.name), rank.steps, rank.seconds);
    for (size_t i = 0; i < RunReport::kKinds.size(); ++i) {
      ranks += fmt::format(",{}:{:.3f}", in_quotes(RunReport::kKinds[i]), rank.share[i]);
    }
    ranks += fmt::format(",\"other\":{:.3f}}}", rank.share[kOther]);
  }
  return fmt::format("{{\"start\":{{{}}},\"ranks\":[{}],\"verdict\":{},\"warning\":{}}}", start,
                     ranks, in_quotes(report.verdict), in_quotes(report.warning));
}

}  // namespace flotilla::launch
